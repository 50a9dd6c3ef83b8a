"""What things are: frozen types, vocabulary and pure rules.

Here: language, terms, index lines, passages, and other rules that take time, randomness and identity as arguments. Not
here: I/O, clocks, SQL, models, anything above this floor.
"""
