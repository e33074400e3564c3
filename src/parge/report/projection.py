"""Vectors drawn in the plane: so that neighbours stay together (t-SNE or UMAP), and by principal components."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parge.errors import Extra, InputError
from parge.events import OnStep, ignore_step
from parge.linalg.signs import column_signs
from parge.linalg.tall import unit
from parge.storage import row_blocks
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

Plane = NDArray[np.float64]
"""(n_rows, 2) coordinates."""

# Pictures are drawn on a grid of this many units a side, with a margin for the size of a dot.
SIDE, _MARGIN = 1_000, 30

# The scale is that of nearly all rows; the few beyond it stand at the edge rather than shrink the rest to a point.
_SHARE_INSIDE = 0.995


PROJECTIONS = ("tsne", "umap", "pca")
"""How a page can draw vectors; the first is the default."""

# t-SNE: how many neighbours each vertex attends to, and rounds. 300 rounds take 3 s of a core for 2,000 vertices; with
# 1,000 the communities of generated graphs were no further apart.
_PERPLEXITY, _TSNE_ROUNDS, _FEWEST = 30, 300, 8

# Copies of anchors are placed at the mean of this many of their nearest other vertices.
_NEAREST = 3


@dataclass(frozen=True, eq=False)
class Projection:
    """One way to draw several views of the same rows."""

    name: str  # t-SNE, UMAP or PCA
    # Each (n_rows, 2): position of each row in each view, 0..`SIDE`, y downwards.
    views: tuple[IntArray, ...] = field(repr=False)
    # Share of each view's variance that the plane shows (PCA); else empty.
    explained: tuple[float, ...] = ()


def project(
    views: Sequence[FloatArray], is_copy: BoolArray, *, how: str = "pca", on_step: OnStep = ignore_step
) -> tuple[Projection, ...]:
    """Draw each view in the plane, rotated so that rows move least to the last view.

    `views` are the same rows before alignment, after it, ... Copies are rows of anchors: they do not influence the
    plane, because they would outweigh the others. `how` is ``tsne`` or ``umap``, in which neighbours stay together,
    with the principal components as a second picture; or ``pca`` alone.
    """
    check_projection(how)
    fit = ~is_copy if (~is_copy).any() else np.ones(is_copy.size, np.bool_)
    planes, explained = zip(*(pca(rows, fit) for rows in views), strict=True)
    variance = Projection("PCA", _placed(planes), explained)
    if how == "pca" or fit.sum() < _FEWEST:
        return (variance,)
    name, draw = ("t-SNE", _tsne) if how == "tsne" else ("UMAP", _umap)
    drawn = []
    for number, (rows, start) in enumerate(zip(views, planes, strict=True), start=1):
        on_step(f"{name} of {int(fit.sum()):,} vertices, picture {number} of {len(views)}")
        drawn.append(_with_copies(unit(np.asarray(rows, np.float64)), fit, draw, start))
    return Projection(name, _placed(drawn)), variance


def check_projection(how: str) -> None:
    """Refuse an unknown projection, or one whose package is not installed; called before any work."""
    if how not in PROJECTIONS:
        raise InputError(f"there is no projection {how!r}; known: {', '.join(PROJECTIONS)}")
    if how == "umap":
        Extra("umap", "umap-learn", "umap").check("the projection umap")


def pca(rows: FloatArray, fit: BoolArray) -> tuple[Plane, float]:
    """Return the rows in the plane of most variance of the rows `fit`, and its share of their variance.

    >>> line = np.array([[0, 0, 0], [3, 4, 0], [6, 8, 0]], np.float32)
    >>> plane, share = pca(line, np.ones(3, bool))
    >>> np.abs(plane[:, 0]).round(3).tolist(), round(share, 3)
    ([5.0, 0.0, 5.0], 1.0)
    """
    exact = np.asarray(rows, np.float64)
    plane = np.zeros((len(exact), 2))
    if not fit.any():
        return plane, 0.0
    centred = exact - exact[fit].mean(axis=0)
    values, axes = np.linalg.eigh(centred[fit].T @ centred[fit])
    two = axes[:, ::-1][:, :2]
    shown = centred @ two
    plane[:, : two.shape[1]] = shown * column_signs(shown[fit])
    total = values.sum()
    return plane, float(values[::-1][:2].sum() / total) if total > 0 else 0.0


def _with_copies(rows: Matrix, fit: BoolArray, draw: Callable[[Matrix, Plane], Plane], start: Plane) -> Plane:
    """Draw the rows `fit`, and put the others next to the nearest of them."""
    plane = np.zeros((len(rows), 2))
    plane[fit] = draw(rows[fit], start[fit])
    others = np.flatnonzero(~fit)
    if others.size:
        cosine = rows[others] @ rows[fit].T
        nearest = np.argsort(-cosine, axis=1, kind="stable")[:, :_NEAREST]
        plane[others] = plane[fit][nearest].mean(axis=1)
    return plane


def _tsne(rows: Matrix, start: Plane) -> Plane:
    """Return t-SNE's picture, started at the principal components; one thread, so that sums have one order."""
    from sklearn.manifold import TSNE

    spread = float(start[:, 0].std())
    begin = start * (1e-4 / spread) if spread > 0 else np.zeros_like(start)
    perplexity = min(_PERPLEXITY, (len(rows) - 1) / 3)
    with threadpool_limits(1):
        made = TSNE(init=begin, perplexity=perplexity, max_iter=_TSNE_ROUNDS, learning_rate="auto", random_state=0)
        return np.asarray(made.fit_transform(rows), np.float64)


def _umap(rows: Matrix, start: Plane) -> Plane:
    import umap

    del start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that a seed keeps it to one thread, which is what we want
        neighbours = max(2, min(15, len(rows) - 1))
        return np.asarray(umap.UMAP(n_neighbors=neighbours, random_state=0).fit_transform(rows), np.float64)


def _placed(planes: Sequence[Plane]) -> tuple[IntArray, ...]:
    """Rotate every plane toward the last one and put it on the grid."""
    last = _centred(planes[-1])
    turned = [_centred(plane) @ _rotation(_centred(plane), last) for plane in planes[:-1]]
    return tuple(_on_grid(plane) for plane in [*turned, last])


def _centred(plane: Plane) -> Plane:
    return np.asarray(plane - (np.median(plane, axis=0) if len(plane) else 0))  # no outlier moves a median


def _rotation(plane: Plane, toward: Plane) -> Plane:
    U, _, Vt = np.linalg.svd(plane.T @ toward)
    return np.asarray(U @ Vt)


def _on_grid(plane: Plane) -> IntArray:
    reach = float(np.quantile(np.abs(plane).max(axis=1), _SHARE_INSIDE)) if len(plane) else 0.0
    half = SIDE / 2
    scaled = plane * ((half - _MARGIN) / reach) if reach > 0 else plane * 0
    placed = half + np.clip(scaled, _MARGIN / 2 - half, half - _MARGIN / 2) * [1, -1]
    return np.rint(placed).astype(np.int64)


def nearest_rows(rows: FloatArray, n_nearest: int) -> tuple[IntArray, Matrix]:
    """Return the nearest other rows of each row by cosine, nearest first, and the cosines.

    >>> found, cosine = nearest_rows(np.array([[1, 0], [2, 0.1], [0, 1]], np.float32), 1)
    >>> found.ravel().tolist()
    [1, 0, 1]
    """
    directions = unit(np.asarray(rows, np.float32))
    n_nearest = min(n_nearest, max(0, len(rows) - 1))
    found, cosines = [], []
    for block in row_blocks(len(directions), 512):
        cosine = directions[block] @ directions.T
        cosine[np.arange(len(cosine)), np.arange(block.start, block.stop)] = -2  # a vertex is not its own neighbour
        order = np.argsort(-cosine, axis=1, kind="stable")[:, :n_nearest]
        found.append(order)
        cosines.append(np.take_along_axis(cosine, order, axis=1))
    if not found:
        return np.zeros((0, n_nearest), np.int64), np.zeros((0, n_nearest))
    return np.concatenate(found), np.asarray(np.concatenate(cosines), np.float64)


def same_part_share(rows: FloatArray, part: IntArray, *, n_nearest: int = 10) -> float | None:
    """Return the mean share of a vertex's nearest vertices (by cosine) in its own part; None for too few rows.

    >>> apart = np.repeat(np.eye(2, dtype=np.float32), 3, axis=0)
    >>> same_part_share(apart, np.array([0, 0, 0, 1, 1, 1]), n_nearest=2)
    1.0
    """
    if len(rows) <= n_nearest:
        return None
    nearest, _ = nearest_rows(rows, n_nearest)
    return float((part[nearest] == part[:, None]).mean())
