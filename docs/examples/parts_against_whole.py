"""Do parts cost quality? Labels predicted from vectors in 4 parts, and from the whole graph.

Run it: ``python docs/examples/parts_against_whole.py``.
"""

import parge
from parge.graph.generate import planted

made = planted(1_000, 8_000, communities=5, mixing=0.3, seed=1)
graph = made.graph
labels = {vertex: int(made.labels.labels[made.labels.indptr[vertex]]) for vertex in range(graph.n_vertices)}

for parts in (1, 4):
    embedding = parge.embed(graph, technique="prone", dim=16, parts=parts, engine="serial", seed=1)
    score = parge.evaluate.classify(embedding, labels, repeats=3)
    print(f"{parts} part(s): micro-F1 {score.micro_f1}, lost edges {embedding.report.lost_edges:.1%}")
    assert score.micro_f1.mean > 0.8
