"""What shards read back from files, checked before kernels use it: those index without looking.

A checksum shows damage, not origin. So every offset, number and part is looked at once, some neighbours at a time.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parge.cluster.mesh import Mesh
from parge.cluster.rows import Owners
from parge.errors import InputError
from parge.kernels.splitmix import item_keys
from parge.run.arrays import DamagedError
from parge.run.codec import Arrays, check_neighbours
from parge.storage import arc_blocks, release_pages, row_blocks
from parge.typing import IntArray, NeighbourArray, PartArray

# Neighbours looked at together, with some 30 bytes each.
_NEIGHBOURS = 1 << 16

# Sums of a shard are below this, so that those of all shards fit in eight bytes.
_MOST_SUM = 2.0**55


@contextmanager
def refusing(where: Path | str) -> Iterator[None]:
    """Raise `DamagedError` where what is read back is not what a shard wrote."""
    try:
        yield
    except KeyError as error:
        raise DamagedError(f"{where} lacks {error}. Start the run again in another folder.") from None
    except (ValueError, InputError) as error:
        raise DamagedError(
            f"{where} was not written by parge: {error}. Start the run again in another folder."
        ) from None


def demand(is_right: bool, fault: str) -> None:
    """Raise ValueError with a fault, unless all is right."""
    if not is_right:
        raise ValueError(fault)


def check_rows(content: Arrays, n_vertices: int) -> None:
    """Raise ValueError unless the arrays are rows of a graph: names, offsets, neighbours, and what each of them has."""
    names, indptr, indices = content["names"], content["indptr"], content["indices"]
    _check_names(names, n_vertices)
    demand(
        indptr.size == names.size + 1
        and indptr[0] == 0
        and indptr[-1] == indices.size
        and bool((indptr[1:] >= indptr[:-1]).all()),
        "the offsets of its rows do not increase from 0 to the number of neighbours",
    )
    for one_each, size in ((("weights", "codes", "times"), indices.size), (("is_anchor", "loads"), names.size)):
        for name in one_each:
            demand(name not in content or content[name].size == size, f"the length of {name} does not fit")
    for block in row_blocks(indices.size, _NEIGHBOURS):
        check_range(indices[block], n_vertices, "a neighbour is not in the graph")
        check_neighbours(indptr, indices, content.get("weights"), block, names)
    release_pages(*content.values())


def _check_names(names: PartArray, n_vertices: int) -> None:
    """Raise ValueError unless names are ascending numbers of vertices."""
    check_range(names, n_vertices, "a vertex is not in the graph")
    demand(bool((names[1:] > names[:-1]).all()), "its vertices are not in ascending order")


def check_range(numbers: NDArray[np.integer], n: int, fault: str) -> None:
    """Raise ValueError unless all numbers are among 0 to n - 1."""
    demand(not numbers.size or (int(numbers.min()) >= 0 and int(numbers.max()) < n), fault)


def leads_both_ways(indptr: IntArray, indices: NeighbourArray) -> bool:
    """Return whether every arc is there in both directions, of rows without duplicates.

    Keys of the arcs up and of the arcs down have the same sum. They are drawn again each time, so no file can hold arcs
    that only seem to match.
    """
    salt, n, total = np.uint64(secrets.randbits(64)), indptr.size - 1, 0
    for first, stop in arc_blocks(indptr, _NEIGHBOURS):
        row = np.repeat(np.arange(first, stop), np.diff(indptr[first : stop + 1]))
        near = indices[indptr[first] : indptr[stop]].astype(np.int64)
        keys = item_keys(salt, 0, np.minimum(row, near) * n + np.maximum(row, near))
        total += int(keys[row < near].sum()) - int(keys[row > near].sum())
    return total % 2**64 == 0


def checked_parts(found: Arrays, n_rows: int, n_parts: int, *, name: str = "part") -> PartArray:
    """Return the part of each row as a step of a split left it."""
    with refusing("a step of the split"):
        part = found[name]
        demand(part.size == n_rows, f"the length of {name} does not fit")
        check_range(part, n_parts, "a number of a part is too small or too large")
        return part


def check_turn(mesh: Mesh, found: Arrays, n_rows: int, n_parts: int) -> None:
    """Raise `DamagedError` unless a turn of choosing anchors left parts, anchors, and what all shards agree on."""
    for name in ("part", "best_part"):
        checked_parts(found, n_rows, n_parts, name=name)
    with refusing("a turn of the split"):
        demand(found["best_anchors"].size == n_rows, "the number of anchors does not fit")
        lost = found["n_lost"]
        demand(lost.size == 2 and int(lost.min()) >= 0, "it does not say how many edges are lost")
        demand(all(np.array_equal(one[0], lost) for one in mesh.share(lost)), "shards do not agree on lost edges")


def check_level(mesh: Mesh, owners: Owners, found: Arrays, n_below: int, below: NDArray[np.int64]) -> None:
    """Raise `DamagedError` unless a step left a level: rows of groups that are as heavy as what they were made of.

    `below` is how much the vertices and how often the edges of the level below count, of all shards.
    """
    with refusing("a level of the split"):
        check_rows(found, owners.n_vertices)
        demand(bool((owners(found["names"]) == mesh.rank).all()), "a group belongs to another shard")
        label, loads, times = found["label"], found["loads"], found["times"]
        demand(label.size == n_below, "the length of label does not fit")
        check_range(label, owners.n_vertices, "a label is not a vertex of the graph")
        for counts in (loads, times):
            demand(not counts.size or int(counts.min()) > 0, "a group or an edge has no weight")
            demand(float(counts.sum(dtype=np.float64)) < _MOST_SUM, "a group or an edge weighs too much")
        total = mesh.total(np.array([loads.sum(), times.sum(dtype=np.int64)]))
        demand(bool(total[0] == below[0] and total[1] <= below[1]), "a group does not weigh as much as its members")


def check_all_there(mesh: Mesh, names: NDArray[np.int32], n_vertices: int) -> None:
    """Raise `DamagedError` unless every vertex of the graph is in one part, and in one only.

    Sums of hashes of the vertices tell: of those that parts have, and of as many numbers as there should be.
    """
    share = np.arange(n_vertices * mesh.rank // mesh.size, n_vertices * (mesh.rank + 1) // mesh.size)
    hashed = [item_keys(np.uint64(0), 0, numbers).sum(dtype=np.uint64).view(np.int64) for numbers in (names, share)]
    n_there, *sums = mesh.total(np.array([names.size, *hashed]))
    if n_there != n_vertices or sums[0] != sums[1]:
        raise DamagedError("a vertex is in two parts, or in none. Start the run again in another folder.")
