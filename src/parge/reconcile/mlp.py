"""The paper's multilayer perceptron, learning only what the rotation leaves over."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.reconcile.base import LinearMap, Map, double, folds, within
from parge.reconcile.rotations import FEWEST_ANCHORS, Corrected, best_choice
from parge.seeds import keyed_rng
from parge.storage import row_blocks, rows_at_once
from parge.typing import FloatArray, Matrix

# How much of the learned correction to apply; 0 is the rotation.
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class PerceptronMap:
    """The map ``x -> y + (g(y) - g(-y)) / 2`` with ``y = x W`` and g a perceptron of one hidden layer.

    Only the odd part of g is used: it maps 0 to 0 and cannot translate, which a rotation must never do.
    """

    turn: Matrix
    inner: Matrix
    bias: Matrix
    outer: Matrix

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the mapped rows, in the precision of the input."""
        out = np.empty_like(vectors)
        for rows in row_blocks(len(vectors), rows_at_once(self.turn.shape[1])):
            turned = double(vectors[rows]) @ self.turn
            out[rows] = within(turned + odd_part(turned, self.inner, self.bias) @ self.outer, out.dtype)
        return out


def odd_part(rows: Matrix, inner: Matrix, bias: Matrix) -> Matrix:
    """Return ``(tanh(X W + b) - tanh(-X W + b)) / 2``: the odd part of the hidden layer."""
    entered = rows @ inner
    return np.asarray((np.tanh(entered + bias) - np.tanh(bias - entered)) / 2)


@dataclass(frozen=True)
class MLP(Corrected):
    """Rotates every space to the consensus, then adds a correction learned by a perceptron.

    Use it as ``reconcile="mlp"`` (``--reconcile mlp``) to compare with the paper's alternative; it is rarely worth
    its time.

    The perceptron (scikit-learn's, from a fixed seed) is trained on anchors. How much of its correction is applied,
    possibly none, is chosen on anchors it has not seen. With fewer than 10 anchors: none.

    Parameters
    ----------
    hidden : int, optional
        Width of the hidden layer; by default `dim`.
    epochs : int
        Passes over the anchors.
    """

    hidden: int | None = None
    epochs: int = 60

    name: ClassVar[str] = "mlp"

    def corrected(self, turn: Matrix, rows: Matrix, target: Matrix) -> Map:
        """Return the rotation, with the learned correction where that helps."""
        misfit = target - rows
        scale, size = float(np.sqrt(np.mean(rows**2))), float(np.sqrt(np.mean(misfit**2)))
        # A misfit that is rounding has nothing to teach.
        if len(rows) < FEWEST_ANCHORS or size <= 1e-7 * scale:
            return LinearMap(turn)
        X, D = rows / scale, misfit / size
        step = self._choose_step(X, D)
        if step == 0:
            return LinearMap(turn)
        inner, bias, outer = self._fit(X, D)
        return PerceptronMap(turn, inner / scale, bias, outer * (step * size))

    def _choose_step(self, X: Matrix, D: Matrix) -> float:
        held = folds(len(X)) == 0
        inner, bias, outer = self._fit(X[~held], D[~held])
        learned = odd_part(X[held], inner, bias) @ outer
        return _STEPS[best_choice([float(np.sum((D[held] - step * learned) ** 2)) for step in _STEPS])]

    def _fit(self, X: Matrix, D: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return inner weights, bias and outer weights; the last bias drops out of the odd part."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor

        # A row and its negative teach an odd map the same; random signs keep the biases from learning a mean.
        signs = keyed_rng(0, "signs", len(X)).choice([-1.0, 1.0], size=(len(X), 1))
        model = MLPRegressor(
            hidden_layer_sizes=(self.hidden or X.shape[1],),
            activation="tanh",
            alpha=1e-2,
            batch_size=min(len(X), max(200, len(X) // 20)),
            max_iter=self.epochs,
            random_state=0,
        )
        with warnings.catch_warnings():
            # The number of epochs is the limit that was asked for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit((X * signs).astype(np.float32), (D * signs).astype(np.float32))
        outer = model.coefs_[1].reshape(-1, D.shape[1])
        return double(model.coefs_[0]), double(model.intercepts_[0]), double(outer)
