"""Embeddings from and to files, one format per module."""
