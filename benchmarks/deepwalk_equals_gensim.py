"""DeepWalk here is as good as gensim's skip-gram on the same graph, walks and settings.

Needs gensim, which the package itself does not: ``pip install gensim``. Then, from the project's root::

    python benchmarks/deepwalk_equals_gensim.py ../shared/data/blogcatalog --seeds 3 --json result.json

gensim gets walks from a plain numpy walker, no subsampling, one thread; F1 is known-count micro-F1 of one-vs-rest
logistic regression (liblinear, C=1) trained on half of the labelled vertices. Times are seconds on a core, of the
whole process; gensim's exclude its walks, ours include them.
"""

import argparse
import gzip
import json
import platform
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.techniques.deepwalk import DeepWalk

REPEATS = 5


def read_graph(stem: Path) -> tuple[Graph, sp.csr_matrix]:
    """Return the graph of STEM.edges.gz and the vertex-by-label matrix of STEM.labels.gz."""
    edges = np.loadtxt(f"{stem}.edges.gz", dtype=np.int64)
    with gzip.open(f"{stem}.labels.gz", "rt") as lines:
        pairs = [(int(v), int(label)) for v, *rest in map(str.split, lines) for label in rest]
    vertex, label = np.array(pairs).T
    n_vertices = int(max(edges.max(), vertex.max())) + 1
    labels = sp.csr_matrix((np.ones(vertex.size, bool), (vertex, label)), shape=(n_vertices, label.max() + 1))
    return Graph.from_edges(edges, vertices=n_vertices), labels


def walk_corpus(graph: Graph, technique: DeepWalk, seed: int) -> Iterator[list[str]]:
    """Yield the sentences of a DeepWalk corpus, repetition by repetition in shuffled order."""
    rng = np.random.default_rng(seed)
    names = [str(v) for v in range(graph.n_vertices)]
    for _ in range(technique.walks):
        steps = np.empty((graph.n_vertices, technique.walk_length), np.int64)
        steps[:, 0] = rng.permutation(graph.n_vertices)
        for i in range(1, technique.walk_length):
            at = steps[:, i - 1]
            steps[:, i] = graph.indices[graph.indptr[at] + (rng.random(at.size) * graph.degrees[at]).astype(np.int64)]
        for walk in steps.tolist():
            yield [names[v] for v in walk]


def with_gensim(graph: Graph, technique: DeepWalk, seed: int) -> tuple[Any, float]:
    """Return gensim's vectors and the seconds that training took."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=technique.dim,
        window=technique.window,
        negative=technique.negatives,
        alpha=technique.learning_rate,
        min_alpha=0.01 * technique.learning_rate,
        ns_exponent=0.75,
        sg=1,
        sample=0,
        min_count=0,
        workers=1,
        seed=seed,
    )
    corpus = list(walk_corpus(graph, technique, seed))
    model.build_vocab(corpus)
    start = time.process_time()
    model.train(
        corpus,
        total_examples=len(corpus),
        epochs=1,
        start_alpha=technique.learning_rate,
        end_alpha=0.01 * technique.learning_rate,
    )
    seconds = time.process_time() - start
    return model.wv[[str(v) for v in range(graph.n_vertices)]], seconds


def with_parge(graph: Graph, technique: DeepWalk, seed: int) -> tuple[Any, float]:
    """Return our vectors and the seconds that walking and training took."""
    start = time.process_time()
    vectors = technique.embed(Subgraph.whole(graph), np.random.default_rng(seed))
    return vectors, time.process_time() - start


def micro_f1(vectors: Any, labels: sp.csr_matrix) -> float:
    """Return the known-count micro-F1 at 50 % training vertices, a mean over shuffles that never change."""
    rows = np.flatnonzero(np.diff(labels.indptr))
    vectors, truth = vectors[rows], labels[rows].toarray()
    scores = []
    for repeat in range(REPEATS):
        order = np.random.default_rng([2020, repeat]).permutation(rows.size)
        train, test = order[: rows.size // 2], order[rows.size // 2 :]
        likelihood = np.column_stack(
            [class_likelihood(vectors[train], truth[train, k], vectors[test]) for k in range(truth.shape[1])]
        )
        rank = np.argsort(np.argsort(-likelihood, axis=1), axis=1)
        chosen = rank < truth[test].sum(axis=1)[:, None]
        # As many labels are chosen as are true, so precision, recall and F1 agree.
        scores.append((chosen & truth[test]).sum() / truth[test].sum())
    return float(np.mean(scores))


def class_likelihood(train: Any, is_member: Any, test: Any) -> Any:
    """Return the logistic regression's probability of one label for every test row."""
    if is_member.all() or not is_member.any():
        return np.full(len(test), float(is_member[0]))
    return LogisticRegression(C=1.0, solver="liblinear").fit(train, is_member).predict_proba(test)[:, 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path, help="path without .edges.gz and .labels.gz")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--walks", type=int, default=10)
    parser.add_argument("--walk-length", type=int, default=40)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)

    graph, labels = read_graph(options.graph)
    technique = DeepWalk(
        walks=options.walks,
        walk_length=options.walk_length,
        window=options.window,
        learning_rate=options.learning_rate,
    )
    DeepWalk(walks=1, walk_length=2).embed(Subgraph.whole(graph), np.random.default_rng(0))  # compiles
    rows: dict[str, dict[str, list[float]]] = {}
    for name, embed in (("parge", with_parge), ("gensim", with_gensim)):
        rows[name] = {"micro_f1": [], "seconds": []}
        for seed in range(1, options.seeds + 1):
            vectors, seconds = embed(graph, technique, seed)
            rows[name]["micro_f1"].append(micro_f1(vectors, labels))
            rows[name]["seconds"].append(seconds)
            print(f"{name:7} seed {seed}: micro-F1 {rows[name]['micro_f1'][-1]:.4f}, {seconds:.1f} s", flush=True)
    gap = float(np.mean(rows["parge"]["micro_f1"]) - np.mean(rows["gensim"]["micro_f1"]))
    ratio = float(np.mean(rows["gensim"]["seconds"]) / np.mean(rows["parge"]["seconds"]))
    print(f"parge - gensim: {gap:+.4f} micro-F1, {ratio:.1f} times as fast")
    if options.json:
        about = {
            "graph": options.graph.name,
            "vertices": graph.n_vertices,
            "edges": graph.n_edges,
            "technique": repr(technique),
            "versions": {name: version(name) for name in ("parge", "gensim", "numba", "numpy")},
            "machine": platform.machine(),
        }
        options.json.write_text(json.dumps({**about, **rows, "gap": gap, "ratio": ratio}, indent=1) + "\n")
    if abs(gap) > 0.01:
        raise SystemExit(f"micro-F1 differs by {gap:+.4f}; at most 0.01 was claimed")


if __name__ == "__main__":
    main()
