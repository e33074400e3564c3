"""The degree head: three numbers that turn vectors and degrees into scores of links."""

from dataclasses import dataclass

import numpy as np

from parge.typing import IntArray, Matrix


@dataclass(frozen=True)
class LinkHead:
    """``cosine cos(u, v) + degree (log(1 + d_u) + log(1 + d_v)) + constant``: the higher, the likelier an edge.

    `parge.space.head.fit_head` fits it. An embedding that parge computed has one, with the degrees, and keeps both in
    ``.npz`` and ``.parquet``.

    Parameters
    ----------
    cosine : float
        Factor of the cosine of both vectors.
    degree : float
        Factor of ``log(1 + degree)``, summed over both ends.
    constant : float
        Makes the score the log odds of an edge, among as many edges as other pairs.
    """

    cosine: float
    degree: float
    constant: float

    def sides(self, directions: Matrix, degrees: IntArray) -> tuple[Matrix, Matrix]:
        """Return rows whose inner products are the scores, without the constant, from rows of length 1.

        The score of u and v is ``left[u] @ right[v]``, and the same the other way round.
        """
        degree, one = self.degree * np.log1p(degrees)[:, None], np.ones((len(directions), 1))
        return np.hstack([self.cosine * directions, degree, one]), np.hstack([directions, one, degree])


ONLY_COSINE = LinkHead(1.0, 0.0, 0.0)
"""Where there is nothing to learn from."""
