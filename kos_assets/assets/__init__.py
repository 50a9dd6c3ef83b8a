"""Dagster wiring, one file per group: load, decide, write, report.

Here: keys, dependencies, metadata, checks. Not here: decisions (domain, the feature rooms), SQL (store).
"""
