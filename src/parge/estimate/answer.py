"""The answer: stages in order, and what breaks as the graph grows."""

from dataclasses import dataclass
from typing import Any

from parge.estimate.breaks import Break, breaks
from parge.estimate.question import Question
from parge.estimate.shards import sharded_breaks, sharded_stages, start_seconds
from parge.estimate.stages import EMBED, HOUR, Sizes, Stage, stages
from parge.techniques.base import Technique


@dataclass(frozen=True)
class Estimate:
    """What a run takes, stage by stage, and what breaks as the graph grows, first to last.

    `sharded` says whether no machine holds the graph (`parge embed --sharded`); `start` is the seconds in which
    processes start, for a graph of any size.
    """

    question: Question
    workers: int
    anchors: float
    stages: tuple[Stage, ...]
    breaks: tuple[Break, ...]
    sharded: bool = False
    start: float = 0.0

    @property
    def seconds(self) -> float:
        """The start of processes and all stages, one after the other."""
        return self.start + sum(stage.seconds for stage in self.stages)

    @property
    def core_hours(self) -> float:
        """Hours that cores are taken, those in which they wait included."""
        return sum(stage.machines * stage.seconds for stage in self.stages) / HOUR

    @property
    def network(self) -> float:
        """Bytes sent."""
        return sum(stage.network for stage in self.stages)

    @property
    def price(self) -> float | None:
        """Price of all stages, as far as prices are given."""
        prices = [stage.price(self.question) for stage in self.stages]
        return sum(price for price in prices if price is not None) if any(p is not None for p in prices) else None

    @property
    def worker_memory(self) -> float:
        """Bytes of the largest worker; in shards, of the largest process."""
        return max(stage.memory for stage in self.stages if self.sharded or stage.name == EMBED)

    @property
    def coordinator_memory(self) -> float | None:
        """Bytes of the one machine that reads, splits and refines; None in shards."""
        return None if self.sharded else max(stage.memory for stage in self.stages if stage.name != EMBED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not fit the machines asked for, a line each."""
        return tuple(item.warning for item in self.breaks if item.warning is not None)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "vertices": self.question.vertices,
            "edges": self.question.edges,
            "workers": self.workers,
            "sharded": self.sharded,
            "anchors": self.anchors,
            "stages": [{**vars(stage), "price": stage.price(self.question)} for stage in self.stages],
            "start": self.start,
            "seconds": self.seconds,
            "core_hours": self.core_hours,
            "network": self.network,
            "price": self.price,
            "breaks": [vars(item) for item in self.breaks],
            "warnings": list(self.warnings),
        }


def estimate(question: Question, technique: Technique, *, sharded: bool = False) -> Estimate:
    """Return what a run costs, stage by stage, and where it breaks first (arithmetic: docs/reference/estimate.md)."""
    sizes = Sizes(question, technique)
    parts = (sharded_stages, sharded_breaks) if sharded else (stages, breaks)
    start = start_seconds(sharded=sharded)
    return Estimate(question, sizes.workers, sizes.anchors, parts[0](sizes), parts[1](sizes), sharded, start)
