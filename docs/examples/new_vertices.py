"""New vertices get vectors in the space of an earlier embedding; no other vector moves."""

import numpy as np

import parge
from parge.graph.generate import planted

made = planted(600, 6_000, communities=4, mixing=0.2, seed=1)
community = made.labels.labels[made.labels.indptr[:-1]]  # of each vertex, its first
embedding = parge.embed(made.graph, technique="prone", dim=16)
before = embedding.vectors.copy()

# Four newcomers, each with six edges into one community.
edges = [(1_000 + i, int(vertex)) for i in range(4) for vertex in np.flatnonzero(community == i)[:6]]
placed = embedding.place(edges)
for i in range(4):
    near, _ = embedding.neighbors(placed[1_000 + i], k=10)
    same = int((community[near.astype(int)] == i).sum())
    print(f"newcomer {1_000 + i}: {same} of the 10 nearest are of community {i}")
    assert same >= 6
assert np.array_equal(before, embedding.vectors)
