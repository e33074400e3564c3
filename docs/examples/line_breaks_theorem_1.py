"""A graph on which Theorem 1 itself fails: LINE's signal matrix, computed in parts from the parts' own degrees.

Every vertex has one neighbour in its own part and all of the other part: cut in two, degrees fall from 7 to 1.
"""

import numpy as np

import parge
from parge.evaluate import pip, signal_of, theorem_1, triangle_bound

n, m, dim = 12, 6, 4
inside = [(u, u + 1) for u in range(0, n, 2)]
across = [(u, v) for u in range(m) for v in range(m, n)]
graph = parge.Graph.from_edges(np.array(inside + across))
A = graph.to_scipy()

whole = signal_of(graph, "line").spectrum(n)
parts = [signal_of(A[half][:, half], "line").spectrum(m) for half in (slice(0, m), slice(m, n))]
F = np.vstack([part.factors(dim, 0.5) for part in parts])
print(f"largest singular value: {whole.values[0]:.4f} of the graph, {parts[0].values[0]:.4f} of a part")

distance = pip(F, whole.factors(dim, 0.5)).pip
printed = theorem_1(whole.values, [m, m], n_vertices=n, dim=dim).bound
triangle = triangle_bound(whole.values, F)
print(f"PIP {distance:.4f}; Theorem 1 promises at most {printed:.4f}, the triangle inequality {triangle:.4f}")
assert parts[0].values[0] > 10 * whole.values[0]
assert distance > 10 * printed
assert distance <= triangle
