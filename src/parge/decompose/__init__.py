"""Decomposition: disjoint parts and shared anchors such that every subgraph keeps its limit."""
