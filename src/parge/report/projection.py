"""Vectors drawn in the plane: by principal components, or by UMAP on request, if it is installed."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from parge.errors import Extra, InputError
from parge.linalg.signs import column_signs
from parge.linalg.tall import unit
from parge.storage import row_blocks
from parge.typing import BoolArray, FloatArray, IntArray

Plane = NDArray[np.float64]
"""(n_rows, 2) coordinates."""

# Pictures are drawn on a grid of this many units a side, with a margin for the size of a dot.
SIDE, _MARGIN = 1_000, 30

# The scale is that of nearly all rows; the few beyond it stand at the edge rather than shrink the rest to a point.
_SHARE_INSIDE = 0.995


@dataclass(frozen=True, eq=False)
class Projection:
    """One way to draw several views of the same rows.

    Parameters
    ----------
    name : str
        PCA or UMAP.
    views : tuple of (n_rows, 2) int64
        Position of each row in each view, 0..`SIDE`, y downwards.
    explained : tuple of float, or empty
        Share of each view's variance that the plane shows (PCA).
    """

    name: str
    views: tuple[IntArray, ...] = field(repr=False)
    explained: tuple[float, ...] = ()


def project(views: Sequence[FloatArray], is_copy: BoolArray, *, how: str = "pca") -> tuple[Projection, ...]:
    """Draw each view in its own best plane, rotated so that rows move least to the last view.

    Parameters
    ----------
    views : sequence of (n_rows, dim) arrays
        The same rows before alignment, after it, ...
    is_copy : (n_rows,) bool
        Rows of anchors; they do not influence the plane, because they would outweigh the others.
    how : str
        ``pca``; or ``umap``, which adds a UMAP picture to the principal components.
    """
    check_projection(how)
    fit = ~is_copy if (~is_copy).any() else np.ones(is_copy.size, np.bool_)
    planes, explained = zip(*(pca(rows, fit) for rows in views), strict=True)
    found = [Projection("PCA", _placed(planes), explained)]
    if how == "umap":
        found.append(Projection("UMAP", _placed([_umap(rows) for rows in views])))
    return tuple(found)


def check_projection(how: str) -> None:
    """Refuse an unknown projection, or one whose package is not installed; called before any work."""
    if how not in ("pca", "umap"):
        raise InputError(f"there is no projection {how!r}; known: pca, umap")
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


def _umap(rows: FloatArray) -> Plane:
    import umap

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


def same_part_share(rows: FloatArray, part: IntArray, *, n_nearest: int = 10) -> float | None:
    """Return the mean share of a vertex's nearest vertices (by cosine) in its own part; None for too few rows.

    >>> apart = np.repeat(np.eye(2, dtype=np.float32), 3, axis=0)
    >>> same_part_share(apart, np.array([0, 0, 0, 1, 1, 1]), n_nearest=2)
    1.0
    """
    if len(rows) <= n_nearest:
        return None
    directions, same = unit(np.asarray(rows, np.float32)), 0
    for block in row_blocks(len(directions), 512):
        cosine = directions[block] @ directions.T
        cosine[np.arange(len(cosine)), np.arange(block.start, block.stop)] = -2  # a vertex is not its own neighbour
        nearest = np.argpartition(cosine, -n_nearest, axis=1)[:, -n_nearest:]
        same += int((part[nearest] == part[block, None]).sum())
    return same / (len(directions) * n_nearest)
