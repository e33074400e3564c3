"""Engines: how tasks run. They know nothing of graphs."""
