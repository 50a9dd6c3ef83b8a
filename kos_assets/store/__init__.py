"""The only SQL: connections by role, migrations, and one module with one .sql file per family of tables.

`kos.memories` is named only by memories.sql and the migrations; whatever serves a reader says `kos.live_...`.
"""
