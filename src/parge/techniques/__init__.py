"""Techniques: how one subgraph becomes one matrix of vectors."""
