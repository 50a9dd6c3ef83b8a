"""Composition roots, one per code location: live.py (from a note to recall) and nightly.py (hygiene and health).

Here: which assets, checks, jobs, schedules, sensors and resources belong together. Not here: what they do.
"""
