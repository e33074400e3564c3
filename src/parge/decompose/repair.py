"""Repair: whatever a partitioner answers is moved under the limits."""

import numpy as np

from parge.errors import InfeasibleError
from parge.typing import IntArray, NeighbourArray, PartArray


def repair(
    indptr: IntArray, indices: NeighbourArray, weights: IntArray, limits: IntArray, part: PartArray
) -> PartArray:
    """Return a partition that keeps every limit, by moving vertices out of the parts that break theirs.

    The vertices that lose the fewest kept edges move first. With unit weights it always succeeds if the limits add up
    to the vertices; otherwise, where no move fits, all vertices are packed again, the heaviest first. If that fails
    too, `InfeasibleError` gives the missing amount.
    """
    part = part.copy()
    loads = np.bincount(part, weights, minlength=limits.size).astype(np.int64)
    while (loads > limits).any():
        if not _relieve(indptr, indices, weights, limits, part, loads):
            return _pack(weights, limits)
    return part


def _relieve(
    indptr: IntArray, indices: NeighbourArray, weights: IntArray, limits: IntArray, part: PartArray, loads: IntArray
) -> bool:
    """Empty the most overfull part down to its limit; return whether any vertex could move."""
    from parge.kernels.cut import part_votes, relieve  # compiled code, loaded only where it is needed

    full = int(np.argmax(loads - limits))
    members = np.flatnonzero((part == full) & (weights > 0))
    votes = part_votes(indptr, indices, part, members, limits.size)
    open_parts = loads < limits
    gain = np.where(open_parts, votes, -1).max(axis=1) - votes[:, full]
    order = np.argsort(-gain / weights[members], kind="stable")
    return relieve(full, members[order], votes[order], weights, limits, part, loads) > 0


def _pack(weights: IntArray, limits: IntArray) -> PartArray:
    """Pack vertices from the heaviest down, each into the part with most room."""
    free = limits.copy()
    part = np.empty(weights.size, np.int32)
    for v in np.argsort(-weights, kind="stable"):
        best = int(np.argmax(free))
        if free[best] < weights[v]:
            raise InfeasibleError(
                f"the parts can hold {int(limits.sum()):,} in total, the vertices need {int(weights.sum()):,}, "
                f"and one that needs {int(weights[v]):,} fits in no part"
            )
        part[v] = best
        free[best] -= weights[v]
    return part
