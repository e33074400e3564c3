"""Exact recovery, and what one anchor too few costs: parts of a matrix of rank 32, rotated by 32 and by 31 anchors."""

import numpy as np

from parge.evaluate import exact_recovery, pip
from parge.reconcile.reconciliation import reconcile

n, rank, dim, n_parts = 400, 32, 32, 8
rng = np.random.default_rng(0)
S = rng.standard_normal((n, rank))
M = S @ S.T  # positive semidefinite, of rank 32; E with E E^T = M is S itself


def in_parts(n_anchors: int) -> np.ndarray:
    """Return F: every worker factorises the submatrix of M that belongs to its vertices, then anchors rotate."""
    anchors, own = np.arange(n_anchors), np.array_split(np.arange(n_anchors, n), n_parts)
    local = []
    for rows in own:
        here = np.concatenate([rows, anchors])
        values, vectors = np.linalg.eigh(M[np.ix_(here, here)])
        local.append(vectors[:, -dim:] * np.sqrt(np.maximum(values[-dim:], 0)))
    maps = reconcile("orthogonal", [vectors[len(vectors) - n_anchors :] for vectors in local]).maps
    F = np.zeros((n, dim))
    for rows, vectors, rotate in zip(own, local, maps, strict=True):
        F[np.concatenate([rows, anchors])] = rotate(vectors)
    return F


for n_anchors in (rank - 1, rank):
    promised = exact_recovery(S, range(n_anchors), dim)
    relative = pip(in_parts(n_anchors), S).relative
    print(f"|A| = {n_anchors}: relative PIP {relative:.1e}; exact recovery: {promised}")
    assert promised.exact == (n_anchors == rank)
    assert relative < 1e-12 if promised.exact else relative > 1e-3
