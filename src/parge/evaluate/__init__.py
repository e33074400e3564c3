"""Evaluation: what an embedding is worth, with and without a task.

``parge.evaluate.pip(embedding, reference)`` compares inner products, ``classify(embedding, labels)`` predicts labels,
``hold_out(graph)`` and ``score_links(...)`` predict edges. Everything meets by vertex id.
"""

from parge.evaluate.pip import core_distances, pip

__all__ = ["core_distances", "pip"]
