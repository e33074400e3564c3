"""Scores: what evaluation answers with, as values that print and turn into JSON."""

import math
from dataclasses import asdict, dataclass
from typing import Any

# Fewer labelled vertices than these, in all or per class, are hardly a sample to learn from and be tested on.
_FEW_LABELLED, _FEW_PER_CLASS = 10, 2


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
    """

    pip: float
    per_vertex: float
    relative: float

    def __str__(self) -> str:
        return f"PIP {self.pip:.6g}, per vertex {self.per_vertex:.6g}, relative {self.relative:.6g}"

    def to_json(self) -> dict[str, float | None]:
        """Return ``{"pip", "per_vertex", "relative"}``; infinity becomes null, because JSON has no infinity."""
        return {key: value if math.isfinite(value) else None for key, value in asdict(self).items()}


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

    def __str__(self) -> str:
        how = f"{self.protocol}, {self.train_ratio:.0%} for training, {self.repeats} shuffles"
        features = ", features standardised" if self.standardised else ""
        return f"micro-F1 {self.micro_f1}, macro-F1 {self.macro_f1} ({self.used}; {how}{features})"

    @property
    def used(self) -> str:
        """What was predicted, for people."""
        return f"{self.classes:,} classes, {self.labelled:,} labelled vertices"

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
        if not out.pop("standardised"):
            return out
        return {**out, "standardised": True}


@dataclass(frozen=True)
class LinkScore(Score):
    """How well one score separates held-out edges from pairs that are not edges."""

    roc_auc: float
    average_precision: float

    def __str__(self) -> str:
        return f"ROC-AUC {self.roc_auc:.4f}, average precision {self.average_precision:.4f}"


@dataclass(frozen=True)
class LinkScores(Score):
    """Link prediction by three scores of the vectors, and by Adamic–Adar, which needs none."""

    cosine: LinkScore
    dot: LinkScore
    logistic: LinkScore
    adamic_adar: LinkScore

    def __str__(self) -> str:
        return "\n".join(f"{name}: {score}" for name, score in vars(self).items())
