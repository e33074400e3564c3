"""Logistic regression of many yes-or-no questions about the same rows, all at once.

The problem is liblinear's (L2-regularised, the intercept included): minimise, for every class, ``|w|^2 / 2 + C sum_i
log(1 + exp(-y_i w.x_i))``. There, one class after another is solved by a trust-region Newton method over rows as sparse
lists. Here the same Newton steps are taken for all classes together, so that the work is a few products of dense
matrices. On BlogCatalog (39 classes, 5,156 x 128 rows) that is some 7 times faster, with the same F1 to four digits.
"""

from dataclasses import dataclass

import numpy as np

from parge.typing import BoolArray, Matrix

# Converged where the gradient has fallen to this share of the first one, as in liblinear scaled by the rarer
# side of a class; liblinear's own default is 1e-4, Newton's last step costs little more.
_TOLERANCE = 1e-5
_MOST_STEPS = 100
_MOST_CG_STEPS = 250

# Entries of (rows x classes) that are worked on at a time: bounds memory for millions of rows.
_ENTRIES_AT_ONCE = 4_000_000


def fit(X: Matrix, Y: BoolArray) -> Matrix:
    """Return one column of weights per class, (n_features, n_classes).

    `X` are features, with a column of ones for an intercept; `Y` says which row is of which class.
    """
    at_once = max(1, _ENTRIES_AT_ONCE // max(1, len(X)))
    columns = [_fit(X, Y[:, start : start + at_once]) for start in range(0, Y.shape[1], at_once)]
    return np.hstack([np.zeros((X.shape[1], 0)), *columns])


@dataclass
class _State:
    """The state of the classes that have not converged."""

    W: Matrix
    Z: Matrix
    """X W, kept up to date."""

    Y: Matrix

    def loss(self, W: Matrix, Z: Matrix) -> Matrix:
        # log(1 + exp(-yz)) with y = +-1, written so that nothing overflows.
        loss = np.log1p(np.exp(-np.abs(Z))) + np.maximum(Z, 0) - self.Y * Z
        return np.asarray((W * W).sum(axis=0) / 2 + loss.sum(axis=0))


def _fit(X: Matrix, Y: BoolArray) -> Matrix:
    out = np.zeros((X.shape[1], Y.shape[1]))
    state = _State(out.copy(), np.zeros(Y.shape), Y.astype(np.float64))
    rarer = np.maximum(np.minimum(state.Y.sum(axis=0), (1 - state.Y).sum(axis=0)), 1) / max(1, len(X))
    goal = _TOLERANCE * rarer * np.linalg.norm(X.T @ (0.5 - state.Y), axis=0)
    left = np.arange(Y.shape[1])
    squares = X * X
    for _ in range(_MOST_STEPS):
        P = (1.0 + np.tanh(0.5 * state.Z)) / 2.0  # by hand: to import scipy.special takes a tenth of a second
        gradient = state.W + X.T @ (P - state.Y)
        size = np.linalg.norm(gradient, axis=0)
        going = size > goal
        out[:, left[~going]] = state.W[:, ~going]
        if not going.any():
            return out
        left, goal, P, gradient = left[going], goal[going], P[:, going], gradient[:, going]
        state = _State(state.W[:, going], state.Z[:, going], state.Y[:, going])
        _step(state, X, squares, gradient, P * (1 - P))
    out[:, left] = state.W
    return out


def _step(state: _State, X: Matrix, squares: Matrix, gradient: Matrix, D: Matrix) -> None:
    """Take a Newton step per class, halved until the loss falls enough (Armijo)."""
    S = _solve(X, D, gradient, 1 + squares.T @ D)
    XS = X @ S
    slope = (gradient * S).sum(axis=0)
    before = state.loss(state.W, state.Z)
    t = np.ones(S.shape[1])
    for _ in range(30):
        after = state.loss(state.W + t * S, state.Z + t * XS)
        # Near the optimum the fall drowns in rounding; a step that does not rise measurably is taken.
        bad = after > before + 1e-4 * t * slope + 1e-12 * np.abs(before)
        if not bad.any():
            break
        t[bad] /= 2
    state.W += t * S
    state.Z += t * XS


def _solve(X: Matrix, D: Matrix, gradient: Matrix, diagonal: Matrix) -> Matrix:
    """Return S with ``(I + X^T D X) S = -gradient`` per class, by conjugate gradients scaled by the diagonal."""
    S, r = np.zeros_like(gradient), -gradient
    z = r / diagonal
    p, rz = z.copy(), (r * z).sum(axis=0)
    # A residual of a tenth of the gradient: tighter steps would save fewer Newton steps than they cost products.
    goal = 0.01 * (gradient * gradient).sum(axis=0)
    going = rz > 0
    for _ in range(_MOST_CG_STEPS):
        q = p + X.T @ (D * (X @ p))
        alpha = np.where(going, rz / np.maximum((p * q).sum(axis=0), np.finfo(np.float64).tiny), 0)
        S += alpha * p
        r -= alpha * q
        going &= (r * r).sum(axis=0) > goal
        if not going.any():
            break
        z = r / diagonal
        rz, before = (r * z).sum(axis=0), rz
        p = np.where(going, z + rz / np.maximum(before, np.finfo(np.float64).tiny) * p, p)
    return S
