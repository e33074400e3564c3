"""A plan (the request), its decision for a graph, and what that would need; all checked before any work."""
