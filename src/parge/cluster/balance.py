"""Who holds which vertices while a graph is split: shards hold about as many arcs, or as many as they have room for.

`parge.cluster.ingest` calls `balanced` before rows travel, and `parge.cluster.stages.Divide` calls `known_owners`. A
vertex with very many neighbours (a *hub*) counts as many arcs: its shard holds little else. No bit of the result
depends on who holds what.
"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from parge.cluster.checks import demand, refusing
from parge.cluster.mesh import Mesh
from parge.cluster.rows import Owners, blocks
from parge.typing import IntArray, PartArray

Room = Sequence[int] | None
"""What each shard has room for, in any unit; None where all have as much."""

# Arcs are counted in this many runs of vertices per shard: a run is below 1 % of a shard's share, unless it has a hub.
_RUNS = 128

# A run with more than this share of what a shard would hold is a block by itself.
_HEAVY = 1 / 16

# A vertex itself, with its id, number and label, takes about as many bytes as two arcs.
_VERTEX_ARCS = 2


def balanced(mesh: Mesh, n_vertices: int, ends: Iterable[PartArray], room: Room = None) -> Owners:
    """Return owners by which shards hold loads in proportion to their room; the same on all shards.

    `ends` are both ends of all edges that this shard has read.
    """
    n_runs = min(n_vertices, _RUNS * mesh.size)
    if mesh.size == 1 or n_runs == 0:
        return Owners.even(n_vertices, mesh.size)
    loads: IntArray = np.zeros(n_runs, np.int64)
    for numbers in ends:
        for some in blocks(numbers.size):
            loads += np.bincount(numbers[some].astype(np.int64) * n_runs // n_vertices, minlength=n_runs)
    # The first number of run i is the least with number * n_runs // n_vertices == i.
    starts = -(-np.arange(n_runs + 1, dtype=np.int64) * n_vertices // n_runs)
    loads = mesh.total(loads) + _VERTEX_ARCS * np.diff(starts)
    return Owners.of_blocks(starts[:-1], shared_out(loads, room or [1] * mesh.size), n_vertices)


def shared_out(loads: NDArray[np.int64], room: Sequence[int]) -> PartArray:
    """Return the shard of each load, so that sums are in proportion to the room of shards.

    Heavy loads go first, the heaviest to the shard that is then the least full. The others fill up all shards to one
    level, in order. So a shard with a load above the level has no other.

    >>> shared_out(np.array([1, 1, 9, 1, 1, 1, 1]), [1, 1, 1]).tolist()
    [1, 2, 0, 1, 2, 1, 2]
    """
    total, space = int(loads.sum()), [max(1, int(one)) for one in room]
    heavy = np.flatnonzero(loads > _HEAVY * total / len(space))
    out, held = np.full(loads.size, -1, np.int32), [0] * len(space)
    fullness = [(0.0, -one, shard) for shard, one in enumerate(space)]
    heapify(fullness)
    for run in heavy[np.argsort(-loads[heavy], kind="stable")]:
        shard = fullness[0][2]
        held[shard] += int(loads[run])
        out[run] = shard
        heapreplace(fullness, (held[shard] / space[shard], -space[shard], shard))
    light = np.flatnonzero(out < 0)
    filled = np.cumsum(_left(held, space, int(loads[light].sum())))
    middle = np.cumsum(loads[light]) - (loads[light] + 1) // 2
    out[light] = np.minimum(np.searchsorted(filled, middle, side="right"), len(space) - 1)
    return out


def _left(held: Sequence[int], space: Sequence[int], more: int) -> list[int]:
    """Return what each shard gets of `more`, so that those that get some are equally full."""
    order = sorted(range(len(space)), key=lambda shard: (held[shard] / space[shard], shard))
    here, room, filled = 0, 0, len(order)
    for n, shard in enumerate(order):
        if room and (here + more) * space[shard] <= held[shard] * room:  # this one is above the level already
            filled = n
            break
        here, room = here + held[shard], room + space[shard]
    out = [0] * len(space)
    for shard in order[:filled]:
        out[shard] = max(0, (here + more) * space[shard] // room - held[shard])
    return out


def known_owners(mesh: Mesh, names: PartArray, n_vertices: int) -> Owners:
    """Return the owners, from the ascending numbers of each shard's vertices; refuse shards that are not of one run."""
    is_first, is_last = (np.diff(names, **{side: -2}) != 1 for side in ("prepend", "append"))
    found = [np.column_stack(both) for both in mesh.share(names[is_first], names[is_last])]
    shards = np.repeat(np.arange(mesh.size, dtype=np.int32), [len(some) for some in found])
    every = np.concatenate(found).astype(np.int64)
    order = np.argsort(every[:, 0], kind="stable")
    starts, lasts = every[order].T
    with refusing("the folder of shards"):
        demand(
            np.array_equal(np.append(starts, n_vertices), np.append(-1, lasts) + 1), "a vertex is held twice, or not"
        )
    return Owners(starts, shards[order], n_vertices)
