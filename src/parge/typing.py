"""Names for the arrays that flow between the stages."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
"""Vertex numbers, counts, offsets."""

PartArray = NDArray[np.int32]
"""The part of every vertex."""

NeighbourArray = NDArray[Any]
"""Neighbours in a CSR: int32 wherever the vertex count allows."""

FloatArray = NDArray[np.float32]
"""Weights and vectors."""

BoolArray = NDArray[np.bool_]

IdArray = NDArray[Any]
"""Outside vertex ids: int64, or numpy's variable-width strings."""

Matrix = NDArray[np.float64]
"""A small dense matrix: a rotation, a sum of products."""

Shape = tuple[int | str, ...]
"""Lengths of the axes of an array; axes of one name are equally long."""
