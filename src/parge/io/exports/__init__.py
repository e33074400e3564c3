"""Vectors for other tools: each format by the library that owns it, behind an extra."""
