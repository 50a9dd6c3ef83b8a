"""The vault room: files and what is written in them.

Here: walking and reading a vault safely, what one note says (frontmatter, structure, dates), stamping ids, the sidecar,
whose id a file has, namespaces of paths. Not here: the database, embeddings, or any decision about memories.
"""
