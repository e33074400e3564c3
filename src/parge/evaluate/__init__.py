"""Evaluation: what an embedding is worth, with and without a task.

``parge.evaluate.pip(embedding, reference)`` compares inner products, ``classify(embedding, labels)`` predicts labels.
``hold_out(graph)``, ``by_degree(...)`` and ``score_links(...)`` predict edges. ``bounds(...)`` says how far from the
embedding of the whole graph one computed in parts can be. Everything meets by vertex id.
"""

from parge.evaluate.bound import APosteriori, Bounds, a_posteriori, bounds, theorem_1, triangle_bound
from parge.evaluate.classification import classify
from parge.evaluate.curve import Curve, curve
from parge.evaluate.labels import Labels, read_labels
from parge.evaluate.links import adamic_adar, score_links
from parge.evaluate.pip import core_distances, pip
from parge.evaluate.recovery import Recovery, exact_recovery
from parge.evaluate.scores import PIP, Classification, LinkScore, LinkScores, LinkTable, Mean, Recall
from parge.evaluate.signals import Signal, signal_of
from parge.graph.holdout import HeldOut, by_degree, given_out, hold_out

__all__ = [
    "PIP",
    "APosteriori",
    "Bounds",
    "Classification",
    "Curve",
    "HeldOut",
    "Labels",
    "LinkScore",
    "LinkScores",
    "LinkTable",
    "Mean",
    "Recall",
    "Recovery",
    "Signal",
    "a_posteriori",
    "adamic_adar",
    "bounds",
    "by_degree",
    "classify",
    "core_distances",
    "curve",
    "exact_recovery",
    "given_out",
    "hold_out",
    "pip",
    "read_labels",
    "score_links",
    "signal_of",
    "theorem_1",
    "triangle_bound",
]
