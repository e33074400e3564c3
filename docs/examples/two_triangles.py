"""Two triangles and a bridge: the smallest graph on which steps of the paper's proof of Theorem 1 fail.

Run it: ``python docs/examples/two_triangles.py``. Every line it prints is also asserted.
"""

import numpy as np

import parge
from parge.evaluate import pip, signal_of, theorem_1

graph = parge.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
A = graph.to_scipy().toarray().astype(np.float64)
halves = [slice(0, 3), slice(3, 6)]  # one triangle each; the bridge 2-3 is lost

# --- "M_1, M_2 are submatrices of M" ---
M, M_1 = A @ A, A[:3, :3] @ A[:3, :3]
print(f"A·A of the graph, rows and columns of the first triangle:\n{M[:3, :3]}\nA·A of that triangle alone:\n{M_1}")
assert M[2, 2] == 3  # vertex 2 has three neighbours,
assert M_1[2, 2] == 2  # but the part sees two of them
assert not np.array_equal(M[:3, :3], M_1)

# --- "PIP(E, F) is the sum of four norms" ---
dim, alpha = 1, 0.5
# One column, so that no eigenvalue repeats; a sign is the only freedom left, and all are made positive.
E = np.abs(signal_of(graph, "hope").spectrum(6).factors(dim, alpha))
parts = [signal_of(graph.to_scipy()[half][:, half], "hope") for half in halves]
F = np.vstack([np.abs(part.spectrum(3).factors(dim, alpha)) for part in parts])
blocks = [np.linalg.norm(E[i] @ E[j].T - F[i] @ F[j].T) for i in halves for j in halves]
distance = pip(F, E).pip
squared = np.hypot.reduce(blocks)
print(f"\nPIP {distance:.4f}; of the four norms the sum is {sum(blocks):.4f}, the root of squares {squared:.4f}")
assert np.isclose(distance, squared)
assert distance < 0.6 * sum(blocks)

# --- Lemma 1 and Lemma 2, for LINE's signal matrix, whose singular values are far below 1 ---
line = signal_of(graph, "line")
values = line.spectrum(6).values
submatrix = np.linalg.svd(line.root[:3][:, :3].toarray(), compute_uv=False)
root, total = np.sqrt(submatrix[:2].sum()), values[:2].sum()
print(f"\nLemma 2 claims sqrt(Σλ'^2α) <= Σλ^2α: {root:.4f} <= {total:.4f} is {root <= total}")
print(f"          what holds is Σλ'^2α <= Σλ^2α: {root**2:.4f} <= {total:.4f} is {root**2 <= total}")
assert root > total >= root**2

left = np.sqrt((values[:2] - submatrix[:2]).sum())
right = np.sqrt((values[:2] ** 2).sum())  # 2m - n = 0, so the first sum of the lemma is empty
print(f"Lemma 1 claims {left:.4f} <= {right:.4f}, which is {left <= right}: a square is missing on its left")
assert left > right >= np.linalg.norm(values[:2] - submatrix[:2])

# --- 2m - n ---
print(f"\nparts of 2 and 4 vertices: 2m - n is {2 * 2 - 6} and {2 * 4 - 6}; no sum runs from 1 to -2: clamped to 0")

# --- and yet Theorem 1 holds here, because its first term alone is enough ---
bound = theorem_1(signal_of(graph, "hope").spectrum(6).values, [3, 3], n_vertices=6, dim=dim, alpha=alpha)
print(f"Theorem 1: PIP {distance:.4f} <= {bound.singular_values:.4f} + {bound.gaps:.4f} + {bound.parts:.4f}")
assert distance <= bound.singular_values
