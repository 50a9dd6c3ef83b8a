"""The invented vault that every first run shows, its shown questions and its gold sets: data only, no code."""
