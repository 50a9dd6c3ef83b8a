"""Running the product on a machine: the embedded database, supervision of processes, doctor, backup, benchmarks.

Here: what starts, watches, measures and stops. Not here: what those processes compute (the rooms
below) or show (serving).
"""
