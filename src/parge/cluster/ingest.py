"""Files into rows that shards hold: every shard reads some of them, and no shard sees all."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.cluster.balance import Room, balanced
from parge.cluster.mesh import Mesh, Message, column
from parge.cluster.rows import MOST_VERTICES, Owners, joined, slices_for
from parge.cluster.source import Source, is_parquet
from parge.errors import InputError
from parge.graph.build import check_weights, dropped_notices
from parge.ids import STRING, show_ids, unique_ids
from parge.io.files import check_file, limit_errors, line_starts
from parge.io.footers import read_footer
from parge.io.graphs.parquet import gather_parquet, parquet_notices
from parge.io.graphs.text import edge_list_notices, gather_edge_list, header_notice
from parge.io.graphs.vertex_data import read_vertices
from parge.kernels.labels import hash_texts
from parge.kernels.splitmix import KeyArray, item_keys
from parge.run.codec import id_arrays, ids_of
from parge.typing import FloatArray, IdArray, IntArray, PartArray

# A text file is read in pieces of so many bytes or more, up to so many for each shard.
_LEAST_PIECE, _PIECES = 1 << 23, 4


@dataclass(frozen=True, eq=False)
class Shard:
    """What one shard holds after reading: its vertices, their ids, and their rows."""

    # Ascending: numbers of its vertices. A number is the place of an id in the order of hashes of all ids, so that it
    # is the same for any number of shards.
    names: PartArray
    ids: IdArray
    # Their neighbours by number, ascending.
    indptr: IntArray
    neighbours: PartArray
    weights: FloatArray | None  # of each neighbour; None where all are 1

    @property
    def degrees(self) -> IntArray:
        """How many neighbours each vertex has."""
        return np.diff(self.indptr)


@dataclass(frozen=True)
class Counts:
    """How many vertices and edges there are in all shards, and what was changed while reading."""

    n_vertices: int
    n_edges: int
    notices: tuple[str, ...] = ()
    weighted: bool = False
    features: Any = None


def ingest(mesh: Mesh, source: Source, owners: Owners | None = None, room: Room = None) -> tuple[Shard, Counts]:
    """Read the files and return the rows of this shard, and the counts of all; see `balanced` for what it holds."""
    with limit_errors():
        notices, maybe_names = _of_columns(mesh, source)
        batches = _read(mesh, source)
    _check_weighted(mesh, batches, source)
    batches.append(_extra_vertices(mesh, source, batches))
    numbers, home_ids, first = _numbered(mesh, _alike(mesh, batches))
    edges = [_renumbered(batch, batch_numbers) for batch, batch_numbers in zip(batches, numbers, strict=True)]
    del batches, numbers
    ends = (end for one, other, _ in edges for end in (one, other))
    owners = owners or balanced(mesh, mesh.count(home_ids.size), ends, room)
    shard, counts = _assembled(mesh, owners, edges, _delivered(mesh, owners, home_ids, first))
    if _is_header(mesh, shard, counts, maybe_names):
        notices = (*notices, header_notice(maybe_names))
    return shard, replace(counts, notices=(*notices, *counts.notices))


def _of_columns(mesh: Mesh, source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what there is to say of the columns of the files, and ids of the first line that may be column names."""

    def look(_found: list[Message]) -> Message:
        texts = [Path(name) for name in source.files if not is_parquet(name)]
        tables = [Path(name) for name in source.files if is_parquet(name)]
        notices, names = edge_list_notices(texts, source.wanted)
        filled = [path for path in tables if read_footer(path).n_rows][:1]
        notices += tuple(notice for path in filled for notice in parquet_notices(path, source.wanted))
        return (np.frombuffer(json.dumps([notices, names]).encode(), np.uint8),)

    (text,) = mesh.lead(look)
    notices, names = json.loads(text.tobytes())
    return tuple(notices), tuple(names)


def _is_header(mesh: Mesh, shard: Shard, counts: Counts, names: Sequence[str]) -> bool:
    """Return whether both ids stand in one edge alone: likely the names of columns."""
    if len(names) < 2 or counts.n_edges < 2:
        return False
    found = 0
    if shard.ids.dtype == STRING:
        degrees = np.diff(shard.indptr)
        found = sum(int(degrees[place].sum() == 1) for name in names for place in [np.flatnonzero(shard.ids == name)])
    return mesh.count(found) == len(names)


@dataclass(eq=False)
class Batch:
    """Some edges: both ends as places among their different ids, and weights. What was used is taken out of it."""

    one: PartArray
    other: PartArray
    ids: IdArray
    weights: FloatArray | None
    file: int = -1  # the place of its file among those of the source


def _read(mesh: Mesh, source: Source) -> list[Batch]:
    """Read this shard's share of the files, some edges at a time; batches without edges are left out."""
    (text,) = mesh.lead(lambda _found: (np.frombuffer(_shares(source, mesh.size), np.uint8),))
    share = json.loads(text.tobytes())[mesh.rank]
    texts = [Path(name) for name in source.files if not is_parquet(name)]
    found = []
    for name, edges in _gathered(share, source, texts):
        (one, other, ids, n_ids), weights = edges.numbered()
        if one.size:
            named: IdArray = np.arange(n_ids) if ids is None else ids
            weights = None if weights is None else check_weights(weights, one.size)
            ends = one.astype(np.int32), other.astype(np.int32)
            found.append(Batch(*ends, named, weights, source.files.index(name)))
    return found


def _gathered(share: list[tuple[str, list[Any]]], source: Source, texts: list[Path]) -> Iterator[tuple[str, Any]]:
    """Yield the edges of a share, some at a time, with the name of their file."""
    for name, pieces in share:
        if is_parquet(name):
            for edges in gather_parquet(Path(name), pieces, source.wanted):
                yield name, edges
        else:
            for start, stop in pieces:
                for edges in gather_edge_list([Path(name)], source.wanted, of=texts, lines=(start, stop)).runs():
                    yield name, edges


def _check_weighted(mesh: Mesh, batches: list[Batch], source: Source) -> None:
    flags = np.array([[batch.file, batch.weights is not None] for batch in batches], np.int64).reshape(-1, 2)
    found = np.concatenate([message[0] for message in mesh.share(flags)])
    kinds = [found[found[:, 1] == flag, 0] for flag in (True, False)]
    if all(files.size for files in kinds):
        one, other = (source.files[int(files.min())] for files in kinds)
        raise InputError(
            f"some of the files have weights, such as {one}, and others have none, such as {other}. Give all of them "
            "a weight column, or use --unweighted."
        )


def _alike(mesh: Mesh, batches: list[Batch]) -> list[IdArray]:
    """Take the ids out of all batches; they are strings where some of any shard are."""
    texts = mesh.count(int(any(batch.ids.dtype == STRING for batch in batches)))
    lists = []
    for batch in batches:
        lists.append(batch.ids.astype(STRING) if texts else batch.ids)
        batch.ids = batch.ids[:0].copy()
    return lists


def _shares(source: Source, size: int) -> bytes:
    """Return what each shard reads of which files: row groups of Parquet, lines of text; about as many bytes each."""
    units: list[tuple[int, str, int, Any]] = []
    for name in source.files:
        path = Path(name)
        check_file(path)
        if is_parquet(name):
            groups = read_footer(path).groups
            units += [(group.n_rows * 8, name, place, place) for place, group in enumerate(groups)]
        else:
            n_bytes = path.stat().st_size
            starts = line_starts(path, min(size * _PIECES, n_bytes // _LEAST_PIECE))
            # The last piece has no end: the bytes of a compressed file say nothing of how long its lines are.
            stops: list[int | None] = [*starts[1:], None]
            for start, stop in zip(starts, stops, strict=True):
                units.append(((n_bytes if stop is None else stop) - start, name, start, (start, stop)))
    loads, found = [0] * size, [{} for _ in range(size)]  # type: list[int], list[dict[str, list[Any]]]
    for n_bytes, name, _, piece in sorted(units, key=lambda unit: (-unit[0], *unit[1:3])):
        rank = loads.index(min(loads))
        loads[rank] += max(1, n_bytes)
        found[rank].setdefault(name, []).append(piece)
    return json.dumps([list(share.items()) for share in found]).encode()


def _extra_vertices(mesh: Mesh, source: Source, batches: list[Batch]) -> Batch:
    """Return this shard's share of the extra vertices, as a batch without edges."""
    extra: IdArray = np.zeros(0, np.int64)
    if isinstance(source.vertices, str):
        if mesh.rank == 0:
            extra = read_vertices(Path(source.vertices))
    elif source.vertices is not None:
        for batch in batches:
            outside = batch.ids
            if outside.dtype != STRING:
                outside = outside[(outside < 0) | (outside >= source.vertices)]
            if outside.size:
                raise InputError(
                    f"{source.vertices:,} vertices mean the ids 0 to {source.vertices - 1:,}, but an edge has "
                    f"{show_ids(outside)}. Give a file of ids instead."
                )
        first, last = (source.vertices * rank // mesh.size for rank in (mesh.rank, mesh.rank + 1))
        extra = np.arange(first, last)
    no_ends: PartArray = np.zeros(0, np.int32)
    return Batch(no_ends, no_ends, extra, None)


def keys_of(ids: IdArray) -> KeyArray:
    """Return the hash of each id: numbers of vertices are places in their order."""
    if ids.dtype != STRING:
        return item_keys(np.uint64(0), 0, ids)
    found = id_arrays(ids)
    return hash_texts(found["id_bytes"], found["id_ends"])


def message_of(ids: IdArray) -> Message:
    """Return ids as arrays of numbers, which can travel."""
    return tuple(id_arrays(ids).values())


def ids_from(message: Message) -> IdArray:
    """Return the ids of `message_of`."""
    names = ("ids",) if len(message) == 1 else ("id_bytes", "id_ends")
    found = ids_of(dict(zip(names, message, strict=True)))
    assert found is not None
    return found


def _numbered(mesh: Mesh, lists: list[IdArray]) -> tuple[list[PartArray], IdArray, int]:
    """Return the numbers of all ids, list by list; and the ids that this shard numbered, and the first number.

    An id goes to the shard whose range its hash falls in; ranges ascend with shards, and ids within one by hash. A
    slice of every range at a time is asked for.
    """
    n_slices = slices_for(mesh, sum(ids.size for ids in lists))
    cells = [_cells(ids, mesh.size * n_slices) for ids in lists]
    numbers = [np.empty(ids.size, np.int32) for ids in lists]
    home_ids, n_here = list[IdArray](), 0
    for place in range(n_slices):
        picks = [np.flatnonzero(cell % n_slices == place) for cell in cells]
        some = np.concatenate([ids[pick] for ids, pick in zip(lists, picks, strict=True)])
        answers, known = _ranked(mesh, some, n_slices, n_here)
        home_ids.append(known)
        n_here += known.size
        ends = np.cumsum([pick.size for pick in picks])[:-1]
        for number, pick, answer in zip(numbers, picks, np.split(answers, ends), strict=True):
            number[pick] = answer
    counts = np.array([int(message[0][0]) for message in mesh.share(np.array([n_here]))])
    if counts.sum() > MOST_VERTICES:
        raise InputError(f"the graph has {counts.sum():,} vertices; shards hold graphs of up to {MOST_VERTICES:,}")
    firsts = np.cumsum(counts) - counts
    for number, cell in zip(numbers, cells, strict=True):
        np.add(number, firsts[cell // n_slices], out=number, casting="unsafe")
    return numbers, np.concatenate(home_ids), int(firsts[mesh.rank])


def _cells(ids: IdArray, n_cells: int) -> NDArray[np.int32]:
    """Return in which of so many equal ranges the hash of each id falls."""
    return ((keys_of(ids) >> np.uint64(32)) * np.uint64(n_cells) >> np.uint64(32)).astype(np.int32)


def _ranked(mesh: Mesh, ids: IdArray, n_slices: int, n_before: int) -> tuple[PartArray, IdArray]:
    """Return the rank of each id of a slice on the shard that numbers it; and the ids that this shard numbers.

    `n_before` is how many this shard has numbered in earlier slices.
    """
    asked, place = unique_ids(ids)
    home = _cells(asked, mesh.size * n_slices) // n_slices
    order = np.argsort(home, kind="stable")
    ends = np.cumsum(np.bincount(home, minlength=mesh.size))[:-1]
    found = [ids_from(message) for message in mesh.swap([message_of(asked[some]) for some in np.split(order, ends)])]
    sizes = np.cumsum([some.size for some in found])[:-1]
    different, where = unique_ids(np.concatenate(found))
    by_key = np.argsort(keys_of(different), kind="stable")
    rank = np.empty(by_key.size, np.int32)
    rank[by_key] = np.arange(n_before, n_before + by_key.size)
    answer = np.empty(asked.size, np.int32)
    answer[order] = column(mesh.swap([(some,) for some in np.split(rank[where], sizes)]), 0)
    return answer[place], different[by_key]


def _delivered(mesh: Mesh, owners: Owners, ids: IdArray, first: int) -> IdArray:
    """Return the ids of this shard's vertices, ascending by number."""
    numbers = np.arange(first, first + ids.size)
    to = owners(numbers)
    found = mesh.swap([(numbers[to == t], *message_of(ids[to == t])) for t in range(mesh.size)])
    order = np.argsort(np.concatenate([message[0] for message in found]), kind="stable")
    return np.concatenate([ids_from(message[1:]) for message in found])[order]


Edges = tuple[PartArray, PartArray, FloatArray | None]
"""Both ends of some edges by number, and weights."""


def _renumbered(batch: Batch, numbers: PartArray) -> Edges:
    """Take the edges out of a batch."""
    found = numbers[batch.one], numbers[batch.other], batch.weights
    batch.one = batch.other = numbers[:0].copy()
    return found


def _proper(mesh: Mesh, edges: list[Edges]) -> tuple[int, int, int]:
    """Leave out edges without weight and self loops; return how many were given, had weight, and are left."""
    counts = np.zeros(3, np.int64)
    for i, (source, target, weights) in enumerate(edges):
        some = np.ones(source.size, np.bool_) if weights is None else weights > 0
        proper = some & (source != target)
        counts += np.array([source.size, np.count_nonzero(some), np.count_nonzero(proper)])
        if not proper.all():
            edges[i] = source[proper], target[proper], None if weights is None else weights[proper]
    given, weighing, left = mesh.total(counts).tolist()
    return given, weighing, left


def _assembled(mesh: Mesh, owners: Owners, edges: list[Edges], ids: IdArray) -> tuple[Shard, Counts]:
    """Send both directions of every edge to who holds its first end; drop repeats and self loops."""
    n_given, n_weighing, n_proper = _proper(mesh, edges)
    names = owners.held(mesh.rank)
    degrees, near, heavy = _rows_by_slices(mesh, owners, edges, names)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    n_edges = mesh.count(near.size) // 2
    if heavy is not None:
        if mesh.count(int(not np.isfinite(heavy).all())):
            raise InputError("the weights of repeated edges add up to more than 3.4e38; scale the weights down")
        if mesh.count(int((heavy != 1).any())) == 0:
            heavy = None
    notices = dropped_notices(n_given - n_weighing, n_weighing - n_proper, n_proper - n_edges)
    return Shard(names, ids, indptr, near, heavy), Counts(owners.n_vertices, n_edges, notices, heavy is not None)


def _rows_by_slices(
    mesh: Mesh, owners: Owners, edges: list[Edges], names: PartArray
) -> tuple[IntArray, PartArray, FloatArray | None]:
    """Return how many neighbours each own vertex has, these neighbours, and their weights; `edges` is emptied.

    The rows of a slice of every shard's vertices travel at a time, so that keys of eight bytes are there for few arcs.
    """
    is_weighted = mesh.count(int(any(weights is not None for _, _, weights in edges))) > 0
    n_slices = slices_for(mesh, sum(2 * source.size for source, _, _ in edges))
    cells = [[owners.slices(end, n_slices) for end in (source, target)] for source, target, _ in edges]
    degrees: IntArray = np.zeros(names.size, np.int64)
    near, heavy = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for place in range(n_slices):
        key, against, weights = _arcs_of(edges, cells, place)
        if place == n_slices - 1:
            edges.clear()
            cells.clear()
        if is_weighted:
            found = mesh.deal(owners(key >> 32), key, against, weights)
            key, merged = _merged(*(column(found, i) for i in range(3)))
            heavy.append(merged)
        else:
            key = _different(column(mesh.deal(owners(key >> 32), key), 0))
        degrees += np.bincount(np.searchsorted(names, key >> 32), minlength=names.size)
        near.append((key & 0xFFFFFFFF).astype(np.int32))
    return degrees, joined(near), joined(heavy) if is_weighted else None


def _arcs_of(
    edges: list[Edges], cells: list[list[NDArray[np.uint8]]], place: int
) -> tuple[IntArray, NDArray[np.int8], FloatArray]:
    """Return the arcs of a slice, whether each leads against its edge, and its weight."""
    keys, sides, heavy = [np.zeros(0, np.int64)], [np.zeros(0, np.int8)], [np.zeros(0, np.float32)]
    for (source, target, weights), both in zip(edges, cells, strict=True):
        for side, (one, other, cell) in enumerate(((source, target, both[0]), (target, source, both[1]))):
            some = np.flatnonzero(cell == place)
            keys.append((one[some].astype(np.int64) << 32) | other[some])
            if weights is not None:
                sides.append(np.full(some.size, side, np.int8))
                heavy.append(weights[some])
    return np.concatenate(keys), np.concatenate(sides), np.concatenate(heavy)


def _different(key: IntArray) -> IntArray:
    """Return the different keys, ascending."""
    key = np.sort(key)
    return np.asarray(key[np.append(True, key[1:] != key[:-1])[: key.size]])


def _merged(key: IntArray, against: Any, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the different arcs and their weights: those of one direction add up, and the larger sum counts.

    Weights are added in ascending order, so that it does not matter who read them.
    """
    order = np.lexsort((weights, against, key))
    key, against, weights = key[order], against[order], weights[order]
    arcs, place = np.unique(key, return_inverse=True)
    sums = np.zeros((2, arcs.size))
    np.add.at(sums, (against, place), weights)
    with np.errstate(over="ignore"):
        return arcs, sums.max(axis=0).astype(np.float32)
