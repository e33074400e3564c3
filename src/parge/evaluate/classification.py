"""Vertex classification: labels predicted from vectors by one-vs-rest logistic regression."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.embedding import Embedding
from parge.errors import InputError, UnknownIdError
from parge.evaluate.labels import Labels
from parge.evaluate.scores import Classification, Mean
from parge.ids import STRING, positions
from parge.linalg import logistic
from parge.linalg.threads import one_blas_thread
from parge.memory import REMEDY, refuse_over_budget
from parge.numbers import MOST_SETTING, check_number, check_whole
from parge.seeds import keyed_rng
from parge.storage import usable_cores
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

PROTOCOLS = ("known-count", "threshold")


def classify(
    embedding: Embedding,
    labels: Labels | Mapping[Any, Any] | str | PathLike[str],
    *,
    train_ratio: float = 0.5,
    repeats: int = 10,
    protocol: str = "known-count",
    seed: int = 0,
    jobs: int | None = None,
    standardise: bool = False,
) -> Classification:
    """Return micro- and macro-F1 of predicting labels from vectors, mean and sd over shuffles.

    One logistic regression per class (liblinear's problem with C=1), trained on a random share of the labelled vertices
    and tested on the rest. Embedding and labels are matched by id: vertices without labels are ignored, labelled
    vertices without a vector are an error. Command line: ``parge evaluate``.

    Parameters
    ----------
    embedding : Embedding
    labels : Labels, mapping of id to label(s), or path
    train_ratio : float
        Share of the labelled vertices to train on, between 0 and 1.
    repeats : int
        Shuffles.
    protocol : str
        ``known-count``, the rule of the literature: for a vertex with k labels the k best classes are predicted. So
        the number of labels must be known. ``threshold``: classes with a probability above one half, possibly none. It
        needs no such knowledge.
    seed : int
        Seed of the shuffles.
    jobs : int, optional
        Number of shuffles that run at the same time; by default one per core. The scores do not depend on it.
    standardise : bool
        First give every column mean 0 and standard deviation 1, measured on the training rows. For techniques whose
        columns differ by orders of magnitude, such as HOPE. The result shows it.
    """
    _check(train_ratio, repeats, protocol)
    if jobs is not None:
        check_whole("jobs", jobs, 1)
    labels = Labels.of(labels, embedding.ids)
    shape = labels.indicator.shape
    # The truth as bytes; scores, and the answers of a solver, as float64, for every shuffle at work.
    refuse_over_budget(
        shape[0] * shape[1] * (2 + 40 * max(1, jobs or usable_cores())),
        f"{shape[1]:,} classes of {shape[0]:,} labelled vertices",
        f"check that these are labels, not ids or numbers (--label-column); if they are labels: {REMEDY}",
    )
    data = _Data(
        _with_ones(_labelled_rows(embedding, labels)),
        labels.indicator.toarray(),
        train_ratio,
        protocol,
        seed,
        standardise,
    )
    if len(data.X) < 2:
        raise InputError("at least two labelled vertices are needed, one for training and one for testing; got 1")
    with one_blas_thread(), ThreadPoolExecutor(max(1, jobs or usable_cores())) as pool:
        micro, macro, each = zip(*pool.map(data.shuffle, range(repeats)), strict=True)
    return Classification(
        _mean(micro),
        _mean(macro),
        protocol,
        train_ratio,
        repeats,
        standardise,
        classes=int(labels.classes.size),
        labelled=len(labels),
        by_label=dict(zip(labels.classes.tolist(), np.mean(each, axis=0).tolist(), strict=True)),
    )


def _labelled_rows(embedding: Embedding, labels: Labels) -> FloatArray:
    try:
        return embedding.rows(labels.ids)
    except UnknownIdError as error:
        remedy = labels.remedy(labels.ids[positions(embedding.ids, labels.ids) < 0])
        if embedding.ids.dtype == STRING and any(set(" \t,") & set(name) for name in embedding.ids.tolist()):
            remedy += (
                " Some ids of the embedding hold blanks or commas: give their labels in a .csv file (with quotes) or a "
                ".tsv file."
            )
        raise UnknownIdError(f"{error}. {remedy}") from None


@dataclass(frozen=True, eq=False)
class _Data:
    X: Matrix
    Y: BoolArray
    train_ratio: float
    protocol: str
    seed: int
    standardise: bool

    def shuffle(self, repeat: int) -> tuple[float, float, Matrix]:
        """Return micro-F1, macro-F1, and the F1 of every class, of one shuffle."""
        order = keyed_rng(self.seed, "classify", repeat).permutation(len(self.X))
        n_train = min(max(1, int(self.train_ratio * order.size)), order.size - 1)
        train, test = order[:n_train], order[n_train:]
        scores = self._scores(train, test)
        truth = self.Y[test]
        predicted = scores > 0 if self.protocol == "threshold" else best(scores, truth.sum(axis=1))
        return *f1(truth, predicted), f1_per_class(truth, predicted)

    def _scores(self, train: IntArray, test: IntArray) -> Matrix:
        """Return the score of every class for every test row: over 0 where its probability is over one half."""
        X, Xt, Y = self.X[train], self.X[test], self.Y[train]
        if self.standardise:
            mean, sd = X[:, :-1].mean(axis=0), X[:, :-1].std(axis=0)
            for rows in (X, Xt):
                rows[:, :-1] = (rows[:, :-1] - mean) / np.where(sd > 0, sd, 1)
        always, never = Y.all(axis=0), ~Y.any(axis=0)
        # A class that all or none of the training rows carry teaches nothing: it is predicted always, or last.
        scores = np.where(always, np.inf, -np.inf) * np.ones((len(test), 1))
        learned = ~always & ~never
        scores[:, learned] = Xt @ logistic.fit(X, Y[:, learned])
        return scores


def best(scores: Matrix, counts: IntArray) -> BoolArray:
    """Return the `counts` highest-scored classes of every row.

    >>> best(np.array([[0.1, 0.9, 0.5]]), np.array([2])).tolist()
    [[False, True, True]]
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    out = np.zeros(scores.shape, np.bool_)
    np.put_along_axis(out, order, np.arange(scores.shape[1]) < counts[:, None], axis=1)
    return out


def f1(truth: BoolArray, predicted: BoolArray) -> tuple[float, float]:
    """Return micro- and macro-F1; a class that neither occurs nor is predicted counts 0 toward the latter.

    >>> f1(np.array([[True, False]]), np.array([[True, True]]))
    (0.6666666666666666, 0.5)
    """
    hits, total = (truth & predicted).sum(), truth.sum() + predicted.sum()
    return float(2 * hits / max(total, 1)), float(f1_per_class(truth, predicted).mean())


def f1_per_class(truth: BoolArray, predicted: BoolArray) -> Matrix:
    """Return the F1 of every class.

    >>> f1_per_class(np.array([[True, False]]), np.array([[True, True]])).tolist()
    [1.0, 0.0]
    """
    total = truth.sum(axis=0) + predicted.sum(axis=0)
    return np.asarray(2 * (truth & predicted).sum(axis=0) / np.maximum(total, 1), np.float64)


def _check(train_ratio: float, repeats: int, protocol: str) -> None:
    check_number("the train ratio", train_ratio, 0, 1, above=True, below=True)
    check_whole("repeats", repeats, 1, MOST_SETTING)
    if protocol not in PROTOCOLS:
        raise InputError(f"there is no protocol {protocol!r}; known: {', '.join(PROTOCOLS)}")


def _with_ones(vectors: NDArray[Any]) -> Matrix:
    return np.hstack([vectors, np.ones((len(vectors), 1))], dtype=np.float64)


def _mean(values: tuple[float, ...]) -> Mean:
    return Mean(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
