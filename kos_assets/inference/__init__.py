"""Models behind one door: routing of tasks to providers, and the providers.

Here: `inference.toml` and its checks, the types that callers see, one file a provider. Not here: what a task's result
means, storing vectors, retry and leases. Model runtimes are imported inside `providers` only.
"""
