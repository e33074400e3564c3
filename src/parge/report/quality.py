"""How good the vectors of a run are: labels predicted from them, compared with the vectors of the whole graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.classification import classify
from parge.evaluate.labels import Labels
from parge.evaluate.pip import different_passes, pip
from parge.evaluate.scores import Classification
from parge.ids import positions
from parge.report.projection import nearest_rows
from parge.result import Report
from parge.seeds import keyed_rng

# Neighbours are compared on a sample: this many vertices, and this many neighbours of each.
_SAMPLED, _NEIGHBOURS = 2_000, 10


@dataclass(frozen=True, eq=False)
class Comparison:
    """The whole graph, embedded by one worker, compared with the parts."""

    score: Classification | None  # labels predicted from the vectors of the whole graph
    # Mean share of a vertex's 10 nearest neighbours that both embeddings agree on, among sampled vertices.
    neighbours: float
    pip: float | None  # relative PIP distance; None where a final pass was run on one of them only
    report: Report | None  # time and memory of the whole graph, where they are known


@dataclass(frozen=True, eq=False)
class Quality:
    """What is known of the vectors: their score, that of the whole graph, and how many vertices carry a label."""

    score: Classification | None = None
    whole: Comparison | None = None
    carriers: Mapping[Any, int] = field(default_factory=dict)

    @property
    def kept(self) -> float | None:
        """Share of the whole graph's micro-F1 that the parts have."""
        if self.score is None or self.whole is None or self.whole.score is None or not self.whole.score.micro_f1.mean:
            return None
        return self.score.micro_f1.mean / self.whole.score.micro_f1.mean


def judge(embedding: Embedding, labels: Labels | None, whole: Embedding | None) -> Quality:
    """Score the vectors of a run by labels, and hold them against those of the whole graph."""
    compared = None if whole is None else _compare(embedding, whole, labels)
    if labels is None:
        return Quality(None, compared)
    carriers = np.asarray(labels.indicator.sum(axis=0)).ravel().tolist()
    return Quality(classify(embedding, labels), compared, dict(zip(labels.classes.tolist(), carriers, strict=True)))


def _compare(embedding: Embedding, whole: Embedding, labels: Labels | None) -> Comparison:
    rows = positions(whole.ids, embedding.ids)
    if len(embedding) != len(whole) or (rows < 0).any():
        raise InputError(
            f"the embedding has {len(embedding):,} vertices, that of the whole graph {len(whole):,}, "
            f"{int((rows >= 0).sum()):,} of them the same. Give an embedding of the same graph."
        )
    report = whole.report if whole.report.is_measured else None
    distance = None if different_passes(embedding, whole) else pip(embedding, whole).relative
    score = None if labels is None else classify(whole, labels)
    return Comparison(score, _shared_neighbours(embedding, whole), distance, report)


def _shared_neighbours(one: Embedding, other: Embedding) -> float:
    """Return the mean share of nearest neighbours in both embeddings, on the same sample of vertices."""
    chosen = one.ids
    if chosen.size > _SAMPLED:
        picked = keyed_rng(0, "shared neighbours", chosen.size).choice(chosen.size, _SAMPLED, replace=False)
        chosen = chosen[np.sort(picked)]
    near = [nearest_rows(embedding.rows(chosen), _NEIGHBOURS)[0] for embedding in (one, other)]
    if not near[0].size:
        return 1.0
    return float((near[0][:, :, None] == near[1][:, None, :]).any(axis=2).mean())
