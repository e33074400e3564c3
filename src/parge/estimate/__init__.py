"""Estimate time, memory, disk, network and price of a run before it starts, from measured constants.

A `Question` says how large the graph is and what the machines have. Then `stages` multiplies, `breaks` compares with
what there is, and `estimate` puts both into an `Estimate`. docs/reference/estimate.md has the arithmetic.
"""

from parge.estimate.answer import Estimate, estimate
from parge.estimate.constants import Constant, constants
from parge.estimate.question import Question

__all__ = ["Constant", "Estimate", "Question", "constants", "estimate"]
