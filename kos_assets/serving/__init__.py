"""One service over recall: REST, MCP over HTTP, MCP over stdio, and its health. All thin; nothing is decided here."""
