"""Embeddings that are finished: nearest neighbours, and alignment of one to another."""
