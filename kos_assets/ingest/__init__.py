"""From a vault to notes, memories, chunks and vectors: four steps, each idempotent, incremental and resumable."""
