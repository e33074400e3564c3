"""Reconciling in one call: maps, how far anchors are off under them, and what to warn of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from parge.linalg.tall import triangle
from parge.reconcile.base import (
    Identity,
    IdentityMap,
    Map,
    Reconciler,
    double,
    few_anchors,
    folds,
    nothing_to_map,
    resolve,
)
from parge.stage_reports import Helped, Reconciled, Residual
from parge.storage import release_pages, row_blocks, rows_at_once, some_rows
from parge.typing import FloatArray, Matrix

_FEWEST_ANCHORS = 5

# Unrelated spaces have sqrt(2). At 1 the mean cosine of an anchor with its counterpart is 1 - 1^2 / 2 = 0.5.
_UNRELATED = 1.0


def residuals(
    maps: Sequence[Map], anchors: Sequence[FloatArray], *, reconciler: Reconciler | None = None
) -> tuple[Residual, ...]:
    """Return one residual per subgraph.

    `anchors` are the anchor rows of every subgraph, as computed. `reconciler` (by default `Consensus`) fits the maps
    for the held-out residual again.
    """
    if not anchors:
        return ()
    n_anchors, dim = anchors[0].shape
    if nothing_to_map(anchors):
        return tuple(Residual(0.0, 0.0, None, _smallest(rows), n_anchors, dim) for rows in anchors)
    before = disagreements([IdentityMap()] * len(anchors), anchors)
    after = disagreements(maps, anchors)
    held_out = _held_out(anchors, reconciler)
    return tuple(
        Residual(before[i], after[i], held_out[i], _smallest(rows), n_anchors, dim) for i, rows in enumerate(anchors)
    )


def disagreements(maps: Sequence[Map], anchors: Sequence[FloatArray]) -> list[float]:
    """Return, for every subgraph, the relative residual of its mapped anchors against the others' mean.

    ``|X - M| / sqrt((|X|^2 + |M|^2) / 2)``, 0 where both are 0; the anchors are read a block at a time.
    """
    apart, size = np.zeros(len(anchors)), np.zeros(len(anchors))
    n_anchors, dim = anchors[0].shape
    for rows in row_blocks(n_anchors, rows_at_once(dim * len(anchors))):
        mapped = [_mapped(apply, matrix[rows]) for apply, matrix in zip(maps, anchors, strict=True)]
        total = np.sum(mapped, axis=0)
        for i, one in enumerate(mapped):
            other = (total - one) / (len(anchors) - 1)
            size[i] += np.vdot(one, one) + np.vdot(other, other)
            apart[i] += np.vdot(one - other, one - other)
        release_pages(*anchors)
    return np.sqrt(apart / np.maximum(size / 2, np.finfo(np.float64).tiny)).tolist()  # type: ignore[no-any-return]


def _mapped(apply: Map, rows: FloatArray) -> Matrix:
    exact: Any = double(rows)  # maps keep the precision they are given
    return double(apply(exact))


def unrelated(found: float, held_out: float | None, *, determined: bool) -> bool:
    """Return whether spaces hardly agree after reconciling: an anchor is as far off as its own length, or farther.

    Where there are too few anchors for the dimensions (not `determined`), the held-out residual is not used.
    """
    return _judged(found, held_out, determined=determined) > _UNRELATED


def _judged(found: float, held_out: float | None, *, determined: bool) -> float:
    return held_out if determined and held_out is not None else found


def hardly_met(found: Sequence[Residual]) -> str | None:
    """Return a warning where spaces hardly agree after reconciling."""
    off = [_judged(r.after, r.held_out, determined=few_anchors(r.n_anchors, r.dim) is None) for r in found]
    apart = [i for i, share in enumerate(off) if share > _UNRELATED]
    if not apart:
        return None
    names = ", ".join(map(str, apart[:8])) + (", ..." if len(apart) > 8 else "")
    return (
        f"the spaces of {len(apart)} of {len(found)} subgraphs ({names}) hardly agree with the others: after "
        f"reconciling, their anchors are {np.mean([off[i] for i in apart]):.0%} off (0% is identical, 141% unrelated). "
        "Use more anchors, fewer parts, another technique, or a pass that brings parts together (--refine whiten)."
    )


def _held_out(anchors: Sequence[FloatArray], reconciler: Reconciler | None) -> Sequence[float | None]:
    from parge.reconcile.rotations import Consensus

    if len(anchors[0]) < _FEWEST_ANCHORS:
        return [None] * len(anchors)
    held = folds(len(anchors[0])) == 0
    maps = (reconciler or Consensus()).maps([some_rows(rows, np.flatnonzero(~held)) for rows in anchors])
    return disagreements(maps, [some_rows(rows, np.flatnonzero(held)) for rows in anchors])


def _smallest(rows: FloatArray) -> float:
    n_anchors, dim = rows.shape
    blocks = (double(rows[block]) for block in row_blocks(n_anchors, rows_at_once(dim)))
    return smallest_strength(blocks, n_anchors, dim)


def smallest_strength(blocks: Iterator[Matrix], n_rows: int, dim: int) -> float:
    """Return the smallest singular value of rows given in blocks; 0 where they cannot span all dimensions."""
    if n_rows < dim or dim == 0:
        return 0.0
    return float(scipy.linalg.svdvals(triangle(blocks, dim))[-1])


# Held-out anchors must be nearer by this factor for the maps to stand: unrelated spaces gain as much by chance.
_NEARER = 0.9


@dataclass(frozen=True)
class Reconciliation:
    """The maps into the common space and what is known of them."""

    name: str
    maps: tuple[Map, ...]  # one per subgraph
    residuals: tuple[Residual, ...]  # one per subgraph
    warnings: tuple[str, ...] = ()  # what a user should know before trusting the result
    fell_back: bool = False  # whether the maps were not used, because they did not help on held-out anchors

    @property
    def helped(self) -> Helped | None:
        """Mean relative residual of the anchors: as computed, as mapped, and as mapped when held out of the fit."""
        seen = [r for r in self.residuals if r.held_out is not None]
        if not seen:
            return None
        return Helped(*(float(np.mean([getattr(r, name) for r in seen])) for name in ("before", "after", "held_out")))

    def report(self) -> Reconciled:
        """Return the entry of the report: the name, the residuals, and whether the maps helped."""
        return Reconciled(reconciler=self.name, residuals=self.residuals, helped=self.helped, fell_back=self.fell_back)


def reconcile(reconciler: str | Reconciler, anchors: Sequence[FloatArray]) -> Reconciliation:
    """Map the spaces of all subgraphs into one, given each one's anchor rows in the same order of anchors.

    The maps are used only where they bring held-out anchors closer together; otherwise the spaces stay unchanged, so
    reconciling never makes the agreement worse.
    """
    chosen = resolve(reconciler)
    maps = chosen.maps(anchors)
    found = residuals(maps, anchors, reconciler=chosen)
    if len(anchors) < 2 or chosen.is_identity:
        return Reconciliation(chosen.name, maps, found)
    few = few_anchors(*anchors[0].shape)
    if chosen.falls_back and (off := _harm(found)) is not None:
        plain, apart = Identity(), hardly_met(found)
        found = residuals(plain.maps(anchors), anchors, reconciler=plain)
        left = (
            f"Alignment ({chosen.name}) did not help on held-out anchors (error {off[0]:.0%} -> {off[1]:.0%}), so it "
            "was skipped."
        )
        return Reconciliation(chosen.name, plain.maps(anchors), found, _given(few, left, apart), fell_back=True)
    return Reconciliation(chosen.name, maps, found, _given(few, hardly_met(found)))


def _harm(found: Sequence[Residual]) -> tuple[float, float] | None:
    """Return how far anchors are off as computed and as mapped unseen, where the maps are no gain."""
    pairs = [(r.before, r.held_out) for r in found if r.held_out is not None]
    if not pairs:
        return None
    before, unseen = (float(np.mean(side)) for side in zip(*pairs, strict=True))
    return (before, unseen) if unseen > _NEARER * before else None


def _given(*warnings: str | None) -> tuple[str, ...]:
    return tuple(warning for warning in warnings if warning is not None)
