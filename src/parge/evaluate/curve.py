"""Learning curves: how classification improves with the share of vertices used for training."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.classification import classify
from parge.evaluate.labels import Labels
from parge.evaluate.scores import Classification
from parge.numbers import shown
from parge.show.text import count

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Curve:
    """One classification a train ratio, in the order asked for."""

    points: tuple[Classification, ...]

    def __str__(self) -> str:
        lines = [f"{p.train_ratio:6.0%}   micro-F1 {p.micro_f1}   macro-F1 {p.macro_f1}" for p in self.points]
        first = self.points[0]
        features = ", features standardised" if first.standardised else ""
        return "\n".join([*lines, f"({first.used}; {first.protocol}, {count(first.repeats, 'shuffle')}{features})"])

    @property
    def notices(self) -> tuple[str, ...]:
        """What to know before the scores are trusted, as `Classification.notices`."""
        return self.points[0].notices

    def to_json(self) -> dict[str, Any]:
        """Return ``{"curve": [...]}``, each point as `Classification.to_json` has it."""
        return {"curve": [point.to_json() for point in self.points]}


def curve(embedding: Embedding, labels: Any, ratios: Sequence[float] = RATIOS, **settings: Any) -> Curve:
    """Return F1 for every train ratio; settings are those of `classify`.

    Every ratio sees the same shuffles, so neighbouring points differ by training, not by luck.
    """
    if not isinstance(ratios, Iterable) or not list(ratios):
        raise InputError(f"at least one train ratio is needed, in a list; got {shown(ratios)}")
    known = Labels.of(labels, embedding.ids)
    return Curve(tuple(classify(embedding, known, train_ratio=ratio, **settings) for ratio in ratios))
