"""Scores: what evaluation answers with, as values that print and turn into JSON."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from parge.show.text import count

# Fewer labelled vertices than these, in all or per class, are hardly a sample to learn from and be tested on.
_FEW_LABELLED, _FEW_PER_CLASS = 10, 2

# Times the distance of two seeds that still counts as near.
_NEAR = 1.4


@dataclass(frozen=True)
class Score:
    """A score as plain values."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, those of scores within too."""
        return asdict(self)


@dataclass(frozen=True)
class Mean(Score):
    """A mean over repetitions, and their sample standard deviation (0 where there is one)."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.sd:.4f}"


@dataclass(frozen=True)
class PIP:
    """How far two embeddings are apart in their inner products.

    Parameters
    ----------
    pip : float
        ``|Z1 Z1^T - Z2 Z2^T|_F``; over a core set, the estimate of it (see `parge.evaluate.pip`).
    per_vertex : float
        Divided by the number of vertices.
    relative : float
        Divided by ``|Z2 Z2^T|_F``; infinite where the reference is zero and the embedding is not.
    factor : float
        What Z1 is best multiplied by before it is compared: PIP is not invariant to scale.
    scaled_per_vertex : float
        PIP per vertex after that factor.
    mapped_per_vertex : float
        PIP per vertex after the best linear map of Z1: what its inner products do not know of the reference's.
    floor_per_vertex : float, optional
        PIP per vertex of another seed of the reference: no embedding can be expected to be closer.
    """

    pip: float
    per_vertex: float
    relative: float
    factor: float
    scaled_per_vertex: float
    mapped_per_vertex: float
    floor_per_vertex: float | None = None

    def __str__(self) -> str:
        floor = "" if self.floor_per_vertex is None else f"; two seeds of the reference: {self.floor_per_vertex:.6g}"
        return (
            f"PIP {self.pip:.6g}, per vertex {self.per_vertex:.6g}, relative {self.relative:.6g}\n"
            f"per vertex after the best common factor ({self.factor:.4g}): {self.scaled_per_vertex:.6g}; "
            f"after the best linear map: {self.mapped_per_vertex:.6g}{floor}\n{self.judgement}"
        )

    @property
    def judgement(self) -> str:
        """What the numbers mean, in one sentence."""
        if self.per_vertex == 0:
            return "The embeddings have the same inner products."
        if not math.isfinite(self.relative):
            return "The reference is zero, so there is nothing to compare with."
        return self._unaided() if self.floor_per_vertex is None else self._against(self.floor_per_vertex)

    def _unaided(self) -> str:
        left = self.mapped_per_vertex * self.relative / self.per_vertex
        scale, linear = (1 - part / self.per_vertex for part in (self.scaled_per_vertex, self.mapped_per_vertex))
        return (
            f"A common factor explains {scale:.0%} of the distance, a linear map {linear:.0%}; what remains is "
            f"{left:.0%} of the reference's inner products. To see what is usual, use --floor."
        )

    def _against(self, floor: float) -> str:
        near = {
            "The": self.per_vertex,
            "Up to one factor, the": self.scaled_per_vertex,
            "Up to the scale of its directions, the": self.mapped_per_vertex,
        }
        for words, distance in near.items():
            if distance <= _NEAR * floor:
                return (
                    f"{words} embedding is about as close to the reference as another seed of it "
                    f"({distance / max(floor, 1e-300):.2f} times as far)."
                )
        times = self.mapped_per_vertex / max(floor, 1e-300)
        return (
            f"After the best linear map, the embedding is still {times:.1f} times as far from the reference as another "
            "seed of it."
        )

    def to_json(self) -> dict[str, float | None]:
        """Return the numbers by name; infinity becomes null, because JSON has no infinity."""
        known = {key: value for key, value in asdict(self).items() if value is not None}
        return {key: value if math.isfinite(value) else None for key, value in known.items()}


@dataclass(frozen=True)
class Classification:
    """F1 of predicting labels from vectors, over several shuffles."""

    micro_f1: Mean
    macro_f1: Mean
    protocol: str
    train_ratio: float
    repeats: int
    standardised: bool = False
    classes: int = 0
    """Labels there are."""
    labelled: int = 0
    """Vertices that carry one."""
    by_label: Mapping[Any, float] = field(default_factory=dict, repr=False, compare=False)
    """Mean F1 of each label; not part of the JSON."""

    def __str__(self) -> str:
        how = f"{self.protocol}, {self.train_ratio:.0%} for training, {count(self.repeats, 'shuffle')}"
        features = ", features standardised" if self.standardised else ""
        return f"micro-F1 {self.micro_f1}, macro-F1 {self.macro_f1} ({self.used}; {how}{features})"

    @property
    def used(self) -> str:
        """What was predicted, for people."""
        return f"{count(self.classes, 'class')}, {count(self.labelled, 'labelled vertex')}"

    @property
    def notices(self) -> tuple[str, ...]:
        """What to know before the score is trusted: that too few vertices are labelled."""
        if self.labelled >= max(_FEW_LABELLED, _FEW_PER_CLASS * self.classes):
            return ()
        return (
            f"{self.used}: too few for a reliable score. Label at least {_FEW_LABELLED} vertices, and {_FEW_PER_CLASS} "
            "per class.",
        )

    def to_json(self) -> dict[str, Any]:
        """Return ``{"micro_f1", "macro_f1", "protocol", "train_ratio", "repeats", "classes", "labelled"}``."""
        out = asdict(self)
        del out["by_label"]
        if not out.pop("standardised"):
            return out
        return {**out, "standardised": True}


@dataclass(frozen=True)
class LinkScore(Score):
    """How well one score separates held-out edges from pairs that are not edges.

    Parameters
    ----------
    roc_auc : float
        The probability that an edge scores above a pair that is none; .5 by chance.
    average_precision : float
        The mean precision over all edges, highest score first.
    hits : float
        The share of edges that score above all but k - 1 of the other pairs.
    """

    roc_auc: float
    average_precision: float
    hits: float

    def __str__(self) -> str:
        return f"ROC-AUC {self.roc_auc:.4f}, average precision {self.average_precision:.4f}"


@dataclass(frozen=True)
class LinkTable(Score):
    """Link prediction by four scores of the vectors, and by three that need no vectors."""

    cosine: LinkScore
    dot: LinkScore
    logistic: LinkScore
    head: LinkScore
    adamic_adar: LinkScore
    degree_product: LinkScore
    local_walk: LinkScore


WITHOUT_VECTORS = ("adamic_adar", "degree_product", "local_walk")
"""The rows of a `LinkTable` that need the graph only."""


def _best(score: Callable[[str], float]) -> str:
    """Return the row of the highest score in words; of equal ones the first, which the vectors have."""
    name = max((item.name for item in fields(LinkTable)), key=score)
    return name.replace("_", " ") + (", which needs no vectors" if name in WITHOUT_VECTORS else "")


@dataclass(frozen=True)
class Recall(Score):
    """The mean share of a vertex's held-out neighbours among the `at` best of all vertices, by each score."""

    at: int
    vertices: int
    """Vertices that the mean is over."""
    cosine: float
    dot: float
    logistic: float
    head: float
    adamic_adar: float
    degree_product: float
    local_walk: float


@dataclass(frozen=True)
class LinkScores(LinkTable):
    """A `LinkTable` against pairs drawn evenly, the same against pairs drawn by degree, and recall per vertex."""

    recall: Recall
    hits_at: int
    degree_corrected: LinkTable | None = None

    def __str__(self) -> str:
        return self.table("both")

    def table(self, negatives: str) -> str:
        """Return the scores as lines, against ``uniform`` pairs, pairs drawn by ``degree``, or ``both``."""
        tables = {"uniform": self, "by degree": self.degree_corrected}
        shown = {
            kind: scores for kind, scores in tables.items() if scores and (negatives == "both" or negatives in kind)
        }
        hits = f"hits@{self.hits_at}"
        wide = max(9, len(hits) + 1)
        above, below = (
            (f"{kind:>{17 + wide}}" for kind in shown),
            [f"{'ROC-AUC':>9}{'AP':>8}{hits:>{wide}}"] * len(shown),
        )
        lines = [f"{'':17}{''.join(above)}{'recall':>10}", f"{'':17}{''.join(below)}{f'@{self.recall.at}':>10}"]
        for item in fields(LinkTable):
            cells = (getattr(scores, item.name) for scores in shown.values())
            text = "".join(
                f"{cell.roc_auc:>9.4f}{cell.average_precision:>8.4f}{cell.hits:>{wide}.4f}" for cell in cells
            )
            name = f"{item.name.replace('_', ' ')}{' *' if item.name in WITHOUT_VECTORS else ''}"
            lines.append(f"{name:17}{text}{getattr(self.recall, item.name):>10.4f}")
        return "\n".join(lines)

    def advice(self, negatives: str) -> str:
        """Return which row answers which question best, and whether it needs vectors; `negatives` as in `table`."""
        kind = "by degree" if negatives == "degree" else "uniform"
        scores = (self.degree_corrected or self) if negatives == "degree" else self
        edge, whom = _best(lambda name: getattr(scores, name).roc_auc), _best(lambda name: getattr(self.recall, name))
        return (
            f"For 'is this an edge?' use the best by ROC-AUC ({kind}): {edge}.\n"
            f"For 'whom to recommend?' use the best by recall@{self.recall.at}: {whom}."
        )

    def to_json(self, negatives: str = "both") -> dict[str, Any]:
        """Return the table by name, and ``degree_corrected`` with the same keys if there is one."""
        out = {name: value for name, value in asdict(self).items() if value is not None}
        return out if negatives != "degree" else {name: out[name] for name in ("degree_corrected", "recall", "hits_at")}
