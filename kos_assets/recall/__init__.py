"""The one way out: search and fetch over live rows of the caller's namespaces, with confidence and a trace.

Never a base table: the serving role has no right on any (S5). Everything here is called the same way by the command
line, REST and MCP.
"""

from kos_assets.recall.search import Answer, Fetched, Hit, Query, Recall

__all__ = ["Answer", "Fetched", "Hit", "Query", "Recall"]
