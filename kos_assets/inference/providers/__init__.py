"""One file a provider: the only places that import a model's runtime or client, and that map its errors to ours."""
