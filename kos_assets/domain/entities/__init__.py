"""What an entity is and which one a text means (N1-N5): pure rules over rows that the caller has loaded.

Here: names and how alike they are, candidates from structure and text, the noise gate, promotion, merge suggestions and
their accounts, grounding of what a model claims. Not here: SQL, models and their prompts, the ledger of decisions.
"""
