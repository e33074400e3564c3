"""Evaluation: what an embedding is worth, with and without a task.

``parge.evaluate.pip(embedding, reference)`` compares inner products, ``classify(embedding, labels)`` predicts labels,
``hold_out(graph)`` and ``score_links(...)`` predict edges. Everything meets by vertex id.
"""

from parge.evaluate.classification import classify
from parge.evaluate.labels import Labels, read_labels
from parge.evaluate.links import HeldOut, adamic_adar, hold_out, score_links
from parge.evaluate.pip import core_distances, pip
from parge.evaluate.scores import PIP, Classification, LinkScore, LinkScores, Mean

__all__ = [
    "PIP",
    "Classification",
    "HeldOut",
    "Labels",
    "LinkScore",
    "LinkScores",
    "Mean",
    "adamic_adar",
    "classify",
    "core_distances",
    "hold_out",
    "pip",
    "read_labels",
    "score_links",
]
