"""Knowledge OS: a Markdown vault as memories that agents can recall. The rooms are in docs/architecture.md."""
