"""What each shard returns from a stage, as typed values; written to `done-STAGE` and checked when a run is resumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, ClassVar, TypeVar

from parge.cluster.checks import demand, refusing
from parge.cluster.rows import MOST_VERTICES
from parge.stage_reports import Refined, Took

_DIGEST, _COUNTS, _HEAD = 64, 4, 3

R = TypeVar("R", bound="ShardResult")


@dataclass(frozen=True, kw_only=True)
class ShardResult(Took):
    """What a shard took for a stage; integers are counts, so none is below 0."""

    def check(self, rank: int) -> None:
        """Raise ValueError where this cannot be the result of that shard."""
        counts = [getattr(self, field.name) for field in fields(self)]
        demand(all(count >= 0 for count in counts if isinstance(count, int)), f"shard {rank} has a count below 0")


@dataclass(frozen=True, kw_only=True)
class ReadResult(ShardResult):
    """What there is in the files, and what of it this shard holds.

    That is `own` vertices, with `arcs` neighbours in all, `largest` of them at one vertex.
    """

    vertices: int
    edges: int
    notices: tuple[str, ...]
    weighted: bool
    own: int
    arcs: int
    largest: int = 0

    def check(self, rank: int) -> None:
        """Refuse more vertices than there can be."""
        super().check(rank)
        demand(self.own <= self.vertices <= MOST_VERTICES, f"{self.vertices:,} vertices are too many or too few")


@dataclass(frozen=True, kw_only=True)
class DivideResult(ShardResult):
    """The parts that this shard received (index, vertices, arcs), the reconciler they are for, and bytes of rows."""

    reconcile: str
    anchors: int
    rows_bytes: int
    parts: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class CutResult(ShardResult):
    """The size of a part's subgraph, and where the edges of the graph are."""

    KEYS: ClassVar[Mapping[str, str]] = {"supervertices": "lumps"}

    vertices: int
    own: int
    halo: int
    supervertices: int
    edges: int
    landmarks: int
    anchors: int
    kept: float
    counts: tuple[int, ...]

    def check(self, rank: int) -> None:
        """Refuse edges that are nowhere."""
        super().check(rank)
        demand(len(self.counts) == _COUNTS, f"shard {rank} has {len(self.counts)} counts of edges, not {_COUNTS}")
        demand(min(self.counts) >= 0, f"shard {rank} has a count below 0")


@dataclass(frozen=True, kw_only=True)
class FinishResult(ShardResult):
    """The file of a part's vectors, what the pass did, and the numbers of the degree head: the same of all shards."""

    KEYS: ClassVar[Mapping[str, str]] = {"refined": "pass"}

    rows: int
    dim: int
    sha256: str
    file: str
    refined: Refined
    head: tuple[float, ...] = ()

    def check(self, rank: int) -> None:
        """Refuse the file of another shard."""
        super().check(rank)
        demand(self.file == shard_name(rank), f"shard {rank} names a file of another shard")
        demand(len(self.head) in (0, _HEAD) and all(map(isfinite, self.head)), f"shard {rank} has no valid degree head")
        demand(len(self.sha256) == _DIGEST and self.sha256.isalnum(), f"shard {rank} has no valid checksum")


def shard_name(index: int) -> str:
    """Return the name of the file that holds the vectors of a part."""
    return f"part-{index:05d}.parquet"


def read_results(kind: type[R], answers: Sequence[Any]) -> list[R]:
    """Return the results of all shards, given as JSON in their order; raise where one cannot be right."""
    found = [kind.from_json(answer, f"shard {rank}") for rank, answer in enumerate(answers)]
    for rank, result in enumerate(found):
        result.check(rank)
    return found


def saved_results(kind: type[R], stage: str, metadata: Mapping[str, Any], size: int) -> list[R]:
    """Return the results of a stage as its folder has them; raise `DamagedError` where they are none."""
    with refusing(f"done-{stage}"):
        answers = metadata["answers"]
        demand(isinstance(answers, list) and len(answers) == size, f"it does not have {size} results")
        return read_results(kind, answers)
