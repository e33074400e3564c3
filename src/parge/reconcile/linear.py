"""A linear map by least squares, ridged toward the rotation; the ridge is chosen on held-out anchors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from parge.linalg.procrustes import rotation
from parge.reconcile.base import LinearMap, Map, folds
from parge.reconcile.rotations import FEWEST_ANCHORS, Corrected, best_choice
from parge.typing import Matrix


@dataclass(frozen=True)
class Linear(Corrected):
    """Rotates every space to the consensus, then applies a linear map by least squares, ridged toward the rotation.

    Use it as ``reconcile="linear"`` (``--reconcile linear``) where there are many anchors, and spaces differ by
    more than a rotation.

    ``W = argmin |H_i W - T|^2 + ridge |W - R_i|^2`` with R_i the consensus rotation and T the mean of all rotated
    anchors. The ridge is chosen by the error on held-out anchors. An infinite ridge, which is the rotation itself, is
    among the choices, so few anchors (where least squares overfits) do no harm.

    Parameters
    ----------
    ridges : tuple of float
        Ridges to choose from, as multiples of the mean eigenvalue of ``H_i^T H_i``.
    """

    ridges: tuple[float, ...] = (100.0, 10.0, 1.0, 0.1, 0.01, 0.001)

    name: ClassVar[str] = "linear"

    def corrected(self, turn: Matrix, rows: Matrix, target: Matrix) -> Map:
        """Return the rotation and the linear correction as one matrix."""
        unbent = np.eye(rows.shape[1])
        ridge = None if len(rows) < FEWEST_ANCHORS else self._choose_ridge(rows, target)
        bend = unbent if ridge is None else unbent + _corrections(rows, target - rows, (ridge,))[0]
        return LinearMap(turn @ bend)

    def _choose_ridge(self, rows: Matrix, target: Matrix) -> float | None:
        fold, errors = folds(len(rows)), np.zeros(1 + len(self.ridges))
        for held in range(fold.max() + 1):
            train, test = fold != held, fold == held
            # The rotation is fitted again: one that had seen the held-out anchors would win unfairly.
            turn = rotation(rows[train].T @ target[train])
            seen, unseen = rows[train] @ turn, rows[test] @ turn
            misfit = target[test] - unseen
            errors[0] += np.vdot(misfit, misfit)
            for i, bend in enumerate(_corrections(seen, target[train] - seen, self.ridges)):
                left = misfit - unseen @ bend
                errors[1 + i] += np.vdot(left, left)
        best = best_choice(errors.tolist())
        return self.ridges[best - 1] if best else None


def _corrections(rows: Matrix, misfit: Matrix, ridges: Sequence[float]) -> list[Matrix]:
    """Return ``argmin_B |X B - D|^2 + ridge |B|^2`` for every ridge, from one eigendecomposition."""
    s, V = scipy.linalg.eigh(rows.T @ rows)
    scale = s.mean()
    if scale <= 0:
        return [np.zeros_like(V) for _ in ridges]
    along = V.T @ (rows.T @ misfit)
    return [V @ (along / (np.maximum(s, 0) + ridge * scale)[:, None]) for ridge in ridges]
