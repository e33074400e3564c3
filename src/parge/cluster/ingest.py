"""Files into rows that shards hold: every shard reads some of them, and no shard sees all."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parge.cluster.mesh import Mesh, Message, column
from parge.cluster.rows import BLOCK, MOST_VERTICES, Owners, offsets_of
from parge.cluster.source import Source, is_parquet
from parge.errors import InputError
from parge.graph.build import check_weights, dropped_notices
from parge.ids import STRING, show_ids, unique_ids
from parge.io.files import check_file
from parge.io.footers import read_footer
from parge.io.graphs.parquet import gather_parquet, parquet_notices
from parge.io.graphs.text import edge_list_notices, gather_edge_list, header_notice
from parge.io.graphs.vertex_data import read_vertices
from parge.kernels.labels import hash_texts
from parge.kernels.splitmix import KeyArray, item_keys
from parge.run.codec import id_arrays, ids_of
from parge.typing import FloatArray, IdArray, IntArray, PartArray


@dataclass(frozen=True, eq=False)
class Shard:
    """What one shard holds after reading: its vertices, their ids, and their rows.

    Parameters
    ----------
    names : int32, ascending
        Numbers of its vertices. A number is the place of an id in the order of hashes of all ids, so that it is the
        same for any number of shards.
    ids : int64 or strings
        Their ids.
    indptr, neighbours : CSR
        Their neighbours by number, ascending.
    weights : float32, optional
        Of each neighbour; None where all are 1.
    """

    names: PartArray
    ids: IdArray
    indptr: IntArray
    neighbours: PartArray
    weights: FloatArray | None


@dataclass(frozen=True)
class Counts:
    """How many vertices and edges there are in all shards, and what was changed while reading."""

    n_vertices: int
    n_edges: int
    notices: tuple[str, ...] = ()
    weighted: bool = False
    features: Any = None


def ingest(mesh: Mesh, source: Source, owners: Owners | None = None) -> tuple[Shard, Counts]:
    """Read the files and return the rows of this shard, and the counts of all."""
    told, maybe_names = _of_columns(mesh, source)
    batches = _read(mesh, source)
    flags = np.array([weights is not None for *_, weights in batches], np.int8)
    is_weighted = {bool(flag) for (found,) in mesh.share(flags) for flag in found}
    if len(is_weighted) > 1:
        raise InputError(
            "some of the files have weights, and others have none. Give all of them a weight column, or use "
            "--unweighted."
        )
    one, other, ids, given = _joined(batches)
    del batches
    weights = check_weights(given, one.size) if is_weighted == {True} else None
    ids = _with_vertices(mesh, source, ids)
    number, home_ids, first = _numbered(mesh, ids)
    n = mesh.count(home_ids.size)
    if n > MOST_VERTICES:
        raise InputError(f"the graph has {n:,} vertices; shards hold graphs of up to {MOST_VERTICES:,}")
    owners = owners or Owners.even(n, mesh.size)
    delivered = _delivered(mesh, owners, home_ids, first)
    shard, counts = _assembled(mesh, owners, number[one], number[other], weights, delivered)
    if _is_header(mesh, shard, counts, maybe_names):
        told = (*told, header_notice(maybe_names))
    return shard, replace(counts, notices=(*told, *counts.notices))


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


Batch = tuple[PartArray, PartArray, IdArray, FloatArray | None]
"""Both ends of some edges as places among their ids, these ids, and weights."""


def _read(mesh: Mesh, source: Source) -> list[Batch]:
    """Read this shard's share of the files, a file or a row group at a time; those without edges are left out."""
    (text,) = mesh.lead(lambda _found: (np.frombuffer(_shares(source, mesh.size), np.uint8),))
    share = json.loads(text.tobytes())[mesh.rank]
    texts = [Path(name) for name in source.files if not is_parquet(name)]
    found = []
    for name, groups in share:
        for group in [None] if groups is None else groups:
            if group is None:
                edges = gather_edge_list([Path(name)], source.wanted, of=texts)
            else:
                edges = gather_parquet(Path(name), [group], source.wanted)
            (one, other, ids, n_ids), weights = edges.numbered()
            if one.size:
                named: IdArray = np.arange(n_ids) if ids is None else ids
                found.append((one.astype(np.int32), other.astype(np.int32), named, weights))
    return found


def _joined(batches: list[Batch]) -> tuple[PartArray, PartArray, IdArray, FloatArray]:
    """Return all edges, with places among the different ids of all; ids are strings where some are."""
    if not batches:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float32)
    lists = [ids for _, _, ids, _ in batches]
    if any(ids.dtype == STRING for ids in lists):
        lists = [ids.astype(STRING) for ids in lists]
    ids, place = unique_ids(np.concatenate(lists))
    at = np.split(place.astype(np.int32), np.cumsum([one.size for one in lists])[:-1])
    ends = [np.concatenate([there[batch[i]] for there, batch in zip(at, batches, strict=True)]) for i in range(2)]
    weights = [given for *_, given in batches if given is not None]
    return ends[0], ends[1], ids, np.concatenate([np.zeros(0, np.float32), *weights])


def _shares(source: Source, size: int) -> bytes:
    """Return which files, and which row groups of Parquet files, each shard reads: about as many bytes each."""
    units: list[tuple[int, str, int | None]] = []
    for name in source.files:
        path = Path(name)
        check_file(path)
        if is_parquet(name):
            groups = read_footer(path).groups
            units += [(group.n_rows * 8, name, place) for place, group in enumerate(groups)]
        else:
            units.append((path.stat().st_size, name, None))
    loads, found = [0] * size, [{} for _ in range(size)]  # type: list[int], list[dict[str, list[int] | None]]
    for n_bytes, name, group in sorted(units, key=lambda unit: (-unit[0], unit[1], unit[2] or 0)):
        rank = loads.index(min(loads))
        loads[rank] += max(1, n_bytes)
        if group is None:
            found[rank][name] = None
        else:
            (found[rank].setdefault(name, []) or found[rank][name]).append(group)  # type: ignore[union-attr]
    return json.dumps([[(name, groups) for name, groups in share.items()] for share in found]).encode()


def _with_vertices(mesh: Mesh, source: Source, ids: IdArray) -> IdArray:
    """Return this shard's ids with those of its share of the extra vertices after them."""
    extra: IdArray = np.zeros(0, np.int64)
    if isinstance(source.vertices, str):
        if mesh.rank == 0:
            extra = read_vertices(Path(source.vertices))
    elif source.vertices is not None:
        outside = ids[: 0 if ids.dtype != STRING else None]
        if ids.dtype != STRING:
            outside = ids[(ids < 0) | (ids >= source.vertices)]
        if outside.size:
            raise InputError(
                f"{source.vertices:,} vertices mean the ids 0 to {source.vertices - 1:,}, but an edge has "
                f"{show_ids(outside)}. Give a file of ids instead."
            )
        first, last = (source.vertices * rank // mesh.size for rank in (mesh.rank, mesh.rank + 1))
        extra = np.arange(first, last)
    texts = mesh.count(int(STRING in (ids.dtype, extra.dtype)))
    if texts:
        ids, extra = ids.astype(STRING), extra.astype(STRING)
    return np.concatenate([ids, extra])


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


def _numbered(mesh: Mesh, ids: IdArray) -> tuple[PartArray, IdArray, int]:
    """Return the number of each id; and the ids, in the order of numbers, that this shard gave, and its first number.

    An id goes to the shard whose range its hash falls in; ranges ascend with shards, and ids within one by hash.
    """
    home = ((keys_of(ids) >> np.uint64(32)) * np.uint64(mesh.size) >> np.uint64(32)).astype(np.int64)
    order = np.argsort(home, kind="stable")
    ends = np.cumsum(np.bincount(home, minlength=mesh.size))[:-1]
    found = [ids_from(message) for message in mesh.swap([message_of(ids[some]) for some in np.split(order, ends)])]
    sizes = np.cumsum([some.size for some in found])[:-1]
    different, place = unique_ids(np.concatenate(found))
    by_key = np.argsort(keys_of(different), kind="stable")
    rank = np.empty(by_key.size, np.int64)
    rank[by_key] = np.arange(by_key.size)
    counts = [int(message[0][0]) for message in mesh.share(np.array([different.size]))]
    first = sum(counts[: mesh.rank])
    answers = np.split((first + rank[place]).astype(np.int64), sizes)
    number = np.empty(ids.size, np.int64)
    number[order] = column(mesh.swap([(answer,) for answer in answers]), 0)
    return number.astype(np.int32), different[by_key], first


def _delivered(mesh: Mesh, owners: Owners, ids: IdArray, first: int) -> IdArray:
    """Return the ids of this shard's vertices, ascending by number."""
    numbers = np.arange(first, first + ids.size)
    to = owners(numbers)
    found = mesh.swap([(numbers[to == t], *message_of(ids[to == t])) for t in range(mesh.size)])
    order = np.argsort(np.concatenate([message[0] for message in found]), kind="stable")
    return np.concatenate([ids_from(message[1:]) for message in found])[order]


def _assembled(
    mesh: Mesh, owners: Owners, source: PartArray, target: PartArray, weights: FloatArray | None, ids: IdArray
) -> tuple[Shard, Counts]:
    """Send both directions of every edge to who holds its first end; drop repeats and self loops."""
    n_given = mesh.count(source.size)
    if weights is not None:
        some = weights > 0
        source, target, weights = source[some], target[some], weights[some]
    n_weighing = mesh.count(source.size)
    proper = source != target
    source, target = source[proper], target[proper]
    weights = None if weights is None else weights[proper]
    n_proper = mesh.count(source.size)
    if weights is None:
        key, merged = _dealt(mesh, owners, source, target), None
    else:
        key = np.concatenate([_arc(source, target), _arc(target, source)])
        against = np.repeat(np.array([0, 1], np.int8), key.size // 2)
        found = mesh.deal(owners(key >> 32), key, against, np.concatenate([weights, weights]))
        key, merged = _merged(*(column(found, i) for i in range(3)))
    del source, target
    names = owners.held(mesh.rank)
    indptr = offsets_of(np.searchsorted(names, key >> 32), names.size)
    neighbours = (key & 0xFFFFFFFF).astype(np.int32)
    n_edges = mesh.count(neighbours.size) // 2
    if merged is not None:
        if mesh.count(int(not np.isfinite(merged).all())):
            raise InputError("the weights of repeated edges add up to more than 3.4e38; scale the weights down")
        if mesh.count(int((merged != 1).any())) == 0:
            merged = None
    notices = dropped_notices(n_given - n_weighing, n_weighing - n_proper, n_proper - n_edges)
    counts = Counts(owners.n_vertices, n_edges, notices, merged is not None)
    return Shard(names, ids, indptr, neighbours, merged), counts


def _arc(source: PartArray, target: PartArray) -> IntArray:
    return (source.astype(np.int64) << 32) | target


def _dealt(mesh: Mesh, owners: Owners, source: PartArray, target: PartArray) -> IntArray:
    """Return the different arcs of this shard's vertices, ascending; some edges travel at a time."""
    n_blocks = max(int(found[0][0]) for found in mesh.share(np.array([-(-source.size // BLOCK)])))
    pieces = [np.zeros(0, np.int64)]
    for block in range(n_blocks):
        some = slice(block * BLOCK, (block + 1) * BLOCK)
        key = np.concatenate([_arc(source[some], target[some]), _arc(target[some], source[some])])
        pieces.append(np.unique(column(mesh.deal(owners(key >> 32), key), 0)))
    key = np.concatenate(pieces)
    del pieces
    key.sort()
    different: IntArray = key[np.append(True, key[1:] != key[:-1])[: key.size]]
    return different


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
