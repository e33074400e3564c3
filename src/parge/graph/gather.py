"""Edges gathered from columns: which are the source, the target and the weight; and their ids, in little memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parge.errors import InputError
from parge.graph.build import Numbered, assemble, number_integers, number_names
from parge.graph.graph import Graph
from parge.memory import refuse_over_budget
from parge.storage import Files, Storage
from parge.typing import FloatArray, IdArray

EDGE_BYTES = 50
"""Bytes that an edge takes while its graph is built: 44 measured at the peak, with weights."""

# Of ids of 64 bits, which are numbered through a table, and of each name: as strings of arrow, of Python and of numpy.
_WIDE_BYTES, _NAME_BYTES = 150, 180


class Gatherer:
    """Collects runs of edges with integer ids or with strings; one run of strings makes all of them strings.

    Integers are kept as 32 bits where they fit, strings as places in a list of names, one list a run. What the graph of
    the edges so far would take is `projected_bytes`, for the reader to compare with the budget.
    """

    def __init__(self) -> None:
        self._ends: tuple[list[IdArray], list[IdArray]] = ([], [])
        self._named: list[Any] = []
        self._weights: list[FloatArray] = []
        self.projected_bytes = 0.0

    def add(self, ends: Any, weights: FloatArray | None = None) -> None:
        """Add edges: a pair of arrow columns of integers, or strings as `encoded` returns them; and their weights."""
        if self._named and isinstance(ends, tuple):
            ends = as_names(ends)
        elif self._ends[0] and not isinstance(ends, tuple):
            # Such as unsigned ids of which only a late one is beyond 64 bits: the order of runs is the weights' order.
            self._named = [as_names((pa.array(u), pa.array(v))) for u, v in zip(*self._ends, strict=True)]
            self._ends = ([], [])
        if isinstance(ends, tuple):
            for runs, column in zip(self._ends, ends, strict=True):
                runs.append(integers(column))
            wide = any(runs[-1].dtype == np.int64 for runs in self._ends)
            self.projected_bytes += (_WIDE_BYTES if wide else EDGE_BYTES) * len(ends[0])
        else:
            self._named.append(ends)
            self.projected_bytes += EDGE_BYTES * (len(ends) // 2) + ends.dictionary.nbytes
        if weights is not None:
            self._weights.append(weights)

    def graph(self, notices: tuple[str, ...] = ()) -> Graph:
        """Build the graph and release the edges."""
        weights = np.concatenate(self._weights) if self._weights else None
        self._weights = []
        source, target, ids, n_vertices = self._numbered()
        pa.default_memory_pool().release_unused()
        return assemble(source, target, weights, n_vertices=n_vertices, ids=ids, notices=notices)

    def _numbered(self) -> Numbered:
        if self._named:
            runs, self._named = pa.chunked_array(self._named).unify_dictionaries().chunks, []
            names = runs[0].dictionary
            refuse_over_budget(
                self.projected_bytes + _NAME_BYTES * len(names) + 2 * names.nbytes,
                f"the edges have {len(names):,} different ids",
            )
            places = [run.indices.to_numpy() for run in runs]
            source = np.concatenate([place[: place.size // 2] for place in places])
            target = np.concatenate([place[place.size // 2 :] for place in places])
            return number_names(source, target, names)
        return number_integers(*(_joined(runs) for runs in self._ends))


def encoded(source: Any, target: Any) -> Any:
    """Return two columns of strings, one after the other, as places in one dictionary."""
    chunks = [*_chunks(source), *_chunks(target)]
    return pc.dictionary_encode(pa.chunked_array(chunks, source.type).combine_chunks())


def as_names(ends: tuple[Any, Any]) -> Any:
    """Return two columns of integers as strings, encoded."""
    source, target = (column.cast(pa.large_string()) for column in ends)
    return encoded(source, target)


def _chunks(column: Any) -> list[Any]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def integers(column: Any) -> IdArray:
    """Return a column as int32 where all of it fits, else int64."""
    array: IdArray = column.to_numpy()
    if array.dtype == np.int32:
        return array
    info = np.iinfo(np.int32)
    fits = not array.size or (array.min() >= info.min and array.max() <= info.max)
    return array.astype(np.int32 if fits else np.int64, copy=False)


def _joined(runs: list[IdArray]) -> IdArray:
    """Return all runs as one array, freeing each."""
    out = np.concatenate(runs) if runs else np.zeros(0, np.int32)
    runs.clear()
    return out


_SOURCE = {"source", "src", "from", "node1", "node_1", "id1", "id_1", "vertex1", "vertex_1", "head"}
_TARGET = {
    "target",
    "dst",
    "dest",
    "destination",
    "to",
    "node2",
    "node_2",
    "id2",
    "id_2",
    "vertex2",
    "vertex_2",
    "tail",
}
_WEIGHT = {"weight", "weights", "edge_weight", "w", "value"}


@dataclass(frozen=True)
class Columns:
    """Places of the columns that make an edge; `weight` is None where edges have none."""

    source: int
    target: int
    weight: int | None = None

    @property
    def used(self) -> tuple[int, ...]:
        """All places, in the order source, target, weight."""
        return (self.source, self.target) if self.weight is None else (self.source, self.target, self.weight)


def by_name(names: Sequence[str]) -> Columns | None:
    """Find the columns by names in common use, or return None.

    >>> by_name(["Id", "Source", "Target", "Weight"])
    Columns(source=1, target=2, weight=3)
    """
    plain = [_plain(name) for name in names]
    source, target, weight = (_first(plain, known) for known in (_SOURCE, _TARGET, _WEIGHT))
    return None if source is None or target is None else Columns(source, target, weight)


def by_place(names: Sequence[str], n_columns: int) -> Columns:
    """Take the first two columns, and as weights the one called so, else the third; the same in every format.

    >>> by_place(["a", "b", "year", "weight"], 4), by_place([], 3)
    (Columns(source=0, target=1, weight=3), Columns(source=0, target=1, weight=2))
    """
    weight = _first([_plain(name) for name in names[2:n_columns]], _WEIGHT)
    return Columns(0, 1, weight + 2 if weight is not None else 2 if n_columns > 2 else None)


def ignored_notice(names: Sequence[str], columns: Columns, n_columns: int, *, weighted: bool = True) -> tuple[str, ...]:
    """Say which columns are not read, and how to read one of them as weights where there are none."""
    shown = [
        repr(names[place]) if place < len(names) else str(place + 1)
        for place in range(n_columns)
        if place not in columns.used
    ]
    if not shown:
        return ()
    hint = ". None of them is read as weights; to use one, name it (weight=, --weight)"
    return (f"columns ignored: {', '.join(shown)}{hint if weighted and columns.weight is None else ''}",)


def is_guessed(names: Sequence[str], columns: Columns, weight: str | None) -> bool:
    """Return whether a column is read as weights only because of its place, not by request or by its name.

    >>> [is_guessed(["a", "b", name], Columns(0, 1, 2), None) for name in ("year", "Weight")]
    [True, False]
    """
    if columns.weight is None or weight is not None:
        return False
    return columns.weight >= len(names) or _plain(names[columns.weight]) not in _WEIGHT


def guessed_notice(names: Sequence[str], columns: Columns, weight: str | None) -> tuple[str, ...]:
    """Say that a column is read as weights whose name does not say so; one without a name is the usual third column."""
    if columns.weight is None or columns.weight >= len(names) or not is_guessed(names, columns, weight):
        return ()
    return (
        f"the column {names[columns.weight]!r} is read as weights because it is the third. To ignore it, give "
        "--unweighted (weighted=False; for a frame, pass only its first two columns).",
    )


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").removesuffix("_id").removesuffix("id") or name


def _first(names: Sequence[str], known: set[str]) -> int | None:
    return next((place for place, name in enumerate(names) if name in known), None)


def asked_for(names: Sequence[str], source: str | None, target: str | None, weight: str | None) -> Columns:
    """Find columns by the names given, else by names in common use, else by place: the first two, and the third.

    >>> asked_for(["a", "b", "weight"], None, None, None)
    Columns(source=0, target=1, weight=2)
    """
    if len(names) < 2:
        raise InputError(f"edges need two columns, source and target; found {', '.join(map(repr, names)) or 'none'}")
    usual = by_name(names) or by_place(names, len(names))
    ends = (
        usual.source if source is None else place_of(names, source),
        usual.target if target is None else place_of(names, target),
    )
    found = usual.weight if weight is None else place_of(names, weight)
    # A third column by its place alone is no weight if it is named as an end.
    return Columns(*ends, None if weight is None and found in ends else found)


def place_of(names: Sequence[str], wanted: str) -> int:
    """Return the place of the column of this name, or raise `InputError` with the known names."""
    if wanted not in names:
        raise InputError(f"there is no column {wanted!r}; the columns are {', '.join(map(repr, names))}")
    return list(names).index(wanted)


def gatherer(storage: Storage) -> Gatherer:
    """Return what gathers edges into memory, or into files."""
    if not isinstance(storage, Files):
        return Gatherer()
    from parge.graph.out_of_core import FileGatherer

    return FileGatherer(storage)
