"""Enrichment: extraction, entities, merges, concepts and importance over the store.

Here: what turns memories into entities and concepts. Not here: pure rules (domain), models and prompts (inference),
SQL (store), Dagster (assets).
"""
