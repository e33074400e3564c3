"""Evaluation: what an embedding is worth, with and without a task."""
