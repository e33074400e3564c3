"""What shards answer after each stage, as a resumed run reads it back: checked before anything is taken of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from parge.cluster.checks import demand, refusing
from parge.cluster.rows import MOST_VERTICES
from parge.cluster.run_folder import CUT, DIVIDE, FINISH, READ
from parge.cluster.stages import shard_name
from parge.values import Settings, Value

_DIGEST, _COUNTS = 64, 4


@dataclass(frozen=True, kw_only=True)
class Answer(Value):
    """What a shard took for a stage; integers are counts, and so none is below 0."""

    peak_bytes: int
    seconds: float
    sent_bytes: int

    def check(self, rank: int) -> None:
        """Raise ValueError where the answer cannot be that of this shard."""
        counts = [getattr(self, field.name) for field in fields(self)]
        demand(all(count >= 0 for count in counts if isinstance(count, int)), f"shard {rank} counts below 0")


@dataclass(frozen=True, kw_only=True)
class ReadAnswer(Answer):
    """What there is in the files, and what of it this shard holds."""

    vertices: int
    edges: int
    notices: tuple[str, ...]
    weighted: bool
    own: int
    arcs: int

    def check(self, rank: int) -> None:
        """Refuse more vertices than there can be."""
        super().check(rank)
        demand(self.own <= self.vertices <= MOST_VERTICES, f"{self.vertices:,} vertices are too many or too few")


@dataclass(frozen=True, kw_only=True)
class DivideAnswer(Answer):
    """How spaces are to be brought together, how many anchors there are, and what rows take."""

    reconcile: str
    anchors: int
    rows_bytes: int


@dataclass(frozen=True, kw_only=True)
class CutAnswer(Answer):
    """The size of a part's subgraph, and where the edges of the graph are."""

    vertices: int
    own: int
    halo: int
    lumps: int
    edges: int
    landmarks: int
    anchors: int
    kept: float
    counts: tuple[int, ...]

    def check(self, rank: int) -> None:
        """Refuse edges that are nowhere."""
        super().check(rank)
        demand(len(self.counts) == _COUNTS, f"shard {rank} does not say where the edges are")
        demand(min(self.counts) >= 0, f"shard {rank} counts below 0")


@dataclass(frozen=True, kw_only=True)
class FinishAnswer(Answer):
    """The file of a part's vectors, and what the pass did."""

    KEYS: ClassVar[Mapping[str, str]] = {"did": "pass"}

    rows: int
    dim: int
    sha256: str
    file: str
    did: Settings

    def check(self, rank: int) -> None:
        """Refuse the file of another."""
        super().check(rank)
        demand(self.file == shard_name(rank), f"shard {rank} writes no file of that name")
        demand(len(self.sha256) == _DIGEST and self.sha256.isalnum(), f"shard {rank} gives no checksum")


_FORMS: dict[str, type[Answer]] = {READ: ReadAnswer, DIVIDE: DivideAnswer, CUT: CutAnswer, FINISH: FinishAnswer}


def checked_answers(stage: str, metadata: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """Return the answers of a stage as they were kept; raise `DamagedError` where they are none."""
    with refusing(f"done-{stage}"):
        answers = metadata["answers"]
        demand(isinstance(answers, list) and len(answers) == size, f"it has not {size} answers")
        for rank, answer in enumerate(answers):
            _FORMS[stage].from_json(answer, f"shard {rank}").check(rank)
        return list(answers)
