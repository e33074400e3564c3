"""The best rotation of one set of rows onto another."""

import numpy as np
import scipy.linalg

from parge.typing import Matrix


def rotation(product: Matrix) -> Matrix:
    """Return the orthogonal W that brings ``H W`` nearest to T, given ``H^T T``.

    The paper's solution with the shapes put right: ``U S V^T = svd(H^T T)``, ``W = U V^T`` (d x d; the paper's
    ``H_0 H_i^T`` is |A| x |A|). Never a translation: moving the origin changes every inner product.

    Where the anchors span fewer than d directions, W is free on the rest. It is chosen there as near to the identity as
    an orthogonal W can be, so that the answer does not hang on rounding.

    >>> bool(np.allclose(rotation(np.array([[0.0, 2.0], [-3.0, 0.0]])), [[0, 1], [-1, 0]]))
    True
    """
    U, s, Vt = scipy.linalg.svd(product)
    rank = int((s > product.shape[0] * np.finfo(np.float64).eps * s[0]).sum())
    if rank < product.shape[0]:
        # Any orthogonal Q in U_2 Q V_2^T does as well; this one has the largest trace.
        A, _, Bt = scipy.linalg.svd(Vt[rank:] @ U[:, rank:])
        U = np.hstack([U[:, :rank], U[:, rank:] @ (A @ Bt).T])
    return np.asarray(U @ Vt)
