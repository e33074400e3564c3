"""What can be known of a parallel HOPE embedding without the centralised one: a bound from sparse products alone."""

import parge
from parge.evaluate import a_posteriori, bounds, signal_of
from parge.graph.generate import planted

graph = planted(2_000, 12_000, seed=1).graph
F = parge.embed(graph, parge.Plan(technique=parge.HOPE(dim=32), parts=4, refine="none", engine="serial", seed=1))

known = a_posteriori(signal_of(graph, "hope"), F.vectors)
print(f"without the centralised embedding: PIP lies between {known.lower:.0f} and {known.upper:.0f}")

everything = bounds(graph, F, sizes=[500] * 4)
print(everything)
assert everything.pip is not None
assert known.lower <= everything.pip <= known.upper
