"""The one way in: authority, verdict, and the only code that changes memories (G1)."""
