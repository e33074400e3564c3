"""What a run stores besides its arrays: metadata, checked when it is read, and notes on failures, retries and times.

Notes have no influence on results.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from parge.errors import InputError
from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.show.text import on_one_line, printable
from parge.stage_reports import Coordinator, TechniqueChoice
from parge.storage import create_new
from parge.techniques.base import Technique
from parge.techniques.resolve import Described
from parge.values import Settings, Value


@dataclass(frozen=True)
class TechniqueRecord(Value):
    """What a run stores of its technique: its name and memory, without its code."""

    name: str
    dim: int  # columns of its vectors
    aligned: bool  # whether the spaces of all parts agree by construction
    footprint: tuple[float, ...]  # bound on a worker's memory: fixed bytes, bytes per vertex, bytes per edge

    @staticmethod
    def of(technique: Technique, bound: Footprint) -> "TechniqueRecord":
        """Return the record of a technique that needs that memory."""
        fields = (bound.fixed, bound.per_vertex, bound.per_edge)
        return TechniqueRecord(technique.name, technique.dim, technique.aligned, fields)

    @property
    def bound(self) -> Footprint:
        """The bound on a worker's memory."""
        fixed, per_vertex, per_edge = self.footprint
        return Footprint(int(fixed), float(per_vertex), float(per_edge))


@dataclass(frozen=True)
class RecordedTechnique(Technique):
    """The technique of a record: a run can be completed without importing the code that its folder names."""

    record: TechniqueRecord = TechniqueRecord("", 0, aligned=False, footprint=(0, 0.0, 0.0))

    name: ClassVar[str] = "recorded"

    def __post_init__(self) -> None:
        for name in ("dim", "name", "aligned"):
            object.__setattr__(self, name, getattr(self.record, name))

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> Any:
        """Raise: there is no code."""
        raise InputError(
            f"only the name of the technique {self.name} is known. Embed with the command that planned it."
        )

    def footprint(self) -> Footprint:
        """Return the bound that the technique gave."""
        return self.record.bound

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the stored bound, features and landmarks included."""
        del graph
        return self.record.bound


@dataclass(frozen=True)
class PlanMetadata(Value):
    """The settings of a run and what follows from them."""

    settings: Settings  # everything that determines the result; a run is resumed only with equal settings
    run: str  # id that connects the results of a run to its settings and decomposition
    decomposition: str  # digest of the part of each vertex
    decompose_seconds: float  # how long that took
    technique: TechniqueRecord  # its name and memory
    # Vertices and edges that each worker holds.
    sizes: tuple[int, ...]
    edges: tuple[int, ...]
    # What the coordinator's memory limit decided, and the projections; empty without a limit.
    coordinator: Coordinator = field(default_factory=Coordinator)
    notices: tuple[str, ...] = ()  # notices on the decomposition
    choice: TechniqueChoice | None = None  # why this technique, if the plan left it open

    @property
    def described(self) -> Described | None:
        """The technique with its settings; None for a Python object, which no folder can hold."""
        return described_in(self.settings.to_json())

    @classmethod
    def from_json(cls, data: Any, where: str = "") -> "PlanMetadata":
        """Return the metadata that a file holds; refuse what no run of parge can have written."""
        found = super().from_json(data, where)
        if not found.sizes or len(found.sizes) != len(found.edges):
            raise InputError(f"{len(found.sizes)} sizes and {len(found.edges)} numbers of edges")
        if len(found.technique.footprint) != 3:
            raise InputError(f"technique.footprint has {len(found.technique.footprint)} numbers, not 3")
        _refuse_impossible(found)
        _refuse_impossible(found.technique)
        if found.run != run_id(found.settings.to_json(), found.decomposition):
            raise InputError("its settings are not those that the run started with")
        return replace(found, notices=tuple(map(printable, found.notices)))


def described_in(settings: Mapping[str, Any]) -> Described | None:
    """Return the technique that the settings of a run have; None for a Python object, which no folder can hold."""
    with contextlib.suppress(InputError):
        return Described.from_json(settings.get("technique"))
    return None


def _refuse_impossible(value: Value) -> None:
    """Refuse numbers that are negative or not finite."""
    for name, found in vars(value).items():
        for number in found if isinstance(found, tuple) else (found,):
            if isinstance(number, int | float) and not 0 <= number < 2**63:
                raise InputError(f"{name} must be at least 0 and finite; found {number}")


@dataclass(frozen=True, kw_only=True)
class SubgraphMetadata(Value):
    """What a worker must know of its subgraph, besides the arrays."""

    NULLS: ClassVar[frozenset[str]] = frozenset({"technique"})

    technique: Described | None  # embeds it; None for a Python object, which no folder can hold
    seed: int  # seed of all random numbers
    run: str  # id of the run
    index: int  # number of the subgraph
    n_own: int  # how many of its vertices are its own
    # Of its context, if it has one. Folders of earlier versions lack the last.
    n_anchors: int | None = None
    n_halo: int | None = None
    n_landmarks: int | None = None

    def __post_init__(self) -> None:
        _refuse_impossible(self)

    @staticmethod
    def of(subgraph: Subgraph, technique: Described | None, seed: int, run: str) -> "SubgraphMetadata":
        """Return the metadata of a subgraph of a run."""
        found = SubgraphMetadata(technique=technique, seed=seed, run=run, index=subgraph.index, n_own=subgraph.n_own)
        around = subgraph.context
        if around is None:
            return found
        return replace(found, n_anchors=around.n_anchors, n_halo=around.n_halo, n_landmarks=around.n_landmarks)


@dataclass(frozen=True)
class ResultMetadata(Value):
    """What a worker measured, besides its vectors."""

    KEYS: ClassVar[Mapping[str, str]] = {"supervertices": "lumps"}  # as folders have it from the first version on

    index: int  # number of the subgraph
    # What the worker held.
    vertices: int
    own: int
    anchors: int
    halo: int
    supervertices: int
    edges: int
    dim: int  # columns of its vectors
    # Of embedding alone, and with reading and writing.
    seconds: float
    total_seconds: float
    peak_bytes: int  # the most memory that it took
    run: str  # id of the run
    versions: Settings  # versions of parge, Python and numpy

    def __post_init__(self) -> None:
        _refuse_impossible(self)
        if not all(isinstance(version, str) for version in self.versions.values()):
            raise InputError("versions must be text")


def run_id(settings: dict[str, Any], decomposition: str) -> str:
    """Return the id that connects the results of a run to its settings and decomposition."""
    text = json.dumps([settings, decomposition], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


FAILURE, RETRIES, SECONDS = "failure.json", "retries.json", "seconds.json"
RUN_NOTES, PART_NOTES = (RETRIES, SECONDS), (FAILURE,)
"""The records in a run folder, and in a part folder."""

# A longer record is none of ours.
_MOST_BYTES = 1 << 20


def write_note(path: Path, record: dict[str, Any]) -> None:
    """Write a record completely or not at all; errors are ignored, because the disk may be full."""
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        with os.fdopen(create_new(temporary), "w") as file:
            file.write(json.dumps(record, indent=1))
        temporary.replace(path)


def read_note(path: Path) -> dict[str, Any] | None:
    """Return a record, or None if there is none that parge wrote."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if not path.is_symlink() and path.is_file() and path.stat().st_size <= _MOST_BYTES:
            record = json.loads(path.read_bytes())
            return record if isinstance(record, dict) else None
    return None


def record_retries(folder: Path, run: str, retries: list[str]) -> None:
    """Store the retries of a run, for a later resume."""
    _record(folder / RETRIES, run, retries)


def recorded_retries(folder: Path, run: str) -> list[str]:
    """Return the earlier retries of this run; empty if the folder has no record."""
    found = _recorded(folder / RETRIES, run, list)
    return [printable(reason) for reason in found or [] if isinstance(reason, str)]


def record_seconds(folder: Path, run: str, seconds: Mapping[str, float]) -> None:
    """Store the time of each stage so far, for a later resume or report."""
    _record(folder / SECONDS, run, dict(seconds))


def recorded_seconds(folder: Path, run: str) -> dict[str, float]:
    """Return the time of each stage of this run that the folder has a record of."""
    found = _recorded(folder / SECONDS, run, dict) or {}
    return {
        str(stage): float(took) for stage, took in found.items() if type(took) in (int, float) and 0 <= took < _LONG
    }


def note_faults(folder: Path, run: str) -> tuple[str, ...]:
    """Return notices on records that cannot be used; they have no influence on results, so the run continues."""
    kinds: dict[str, type[Any]] = {RETRIES: list, SECONDS: dict}
    return tuple(
        f"{on_one_line(folder / name)} is damaged or belongs to another run; {_LOST[name]}"
        for name, kind in kinds.items()
        if os.path.lexists(folder / name) and _recorded(folder / name, run, kind) is None
    )


def _record(path: Path, run: str, value: Any) -> None:
    key = path.stem
    write_note(path, {"run": run, key: value, "crc32": _sum(run, value)})


def _recorded(path: Path, run: str, kind: type[Any]) -> Any:
    """Return what `_record` wrote for this run, or None."""
    record = read_note(path) or {}
    value = record.get(path.stem)
    if record.get("run") != run or type(value) is not kind or record.get("crc32") != _sum(run, value):
        return None
    return value


def _sum(run: str, value: Any) -> str:
    return f"{crc32(json.dumps([run, value], sort_keys=True).encode()):08x}"


# What is missing where a record cannot be used.
_LOST = {
    RETRIES: "earlier retries are not in the report",
    SECONDS: "the time of earlier work is not counted",
}

# More seconds than any run takes: a note with more is none of ours.
_LONG = 1e12
