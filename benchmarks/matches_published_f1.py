"""Claim: centralised DeepWalk, NetMF and ProNE reach their published micro-F1 on BlogCatalog: what parts lose is real.

DeepWalk, 80 walks of 40 steps, window 10, 50 % for training: .415. NetMF (window 10, 256 eigenpairs), 90 %: .435; both
as Qiu et al. (2018) report them. ProNE, 90 %: .436 (Zhang et al. 2019). All by the known-count protocol, d = 128.
(DeepWalk's macro-F1 of .277 was reached with hierarchical softmax; ours samples negatives.)

Settings are those of the published runs, DeepWalk's rate among them (gensim's default); seeds are counted from 0. Two
were looked at on this graph before: three rates (.05: .405, .025: .409, .015: .408), and NetMF's number of products (2,
3, 5, 8, 14: .417, .439, .450, .446, .448; 5 was kept). So neither row is a blind test.

ProNE is computed a second time by scikit-learn and scipy, step by step as its paper has it, and scored the same way:
what that does not reach either is no fault of ours.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import harness
import parge
from parge.embedding import Embedding
from parge.evaluate.labels import Labels, read_labels
from parge.techniques.base import Technique

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

Embed = Callable[[parge.Graph, int], Embedding]
"""Makes an embedding of a graph and a seed."""


@dataclass(frozen=True)
class Published:
    """An embedding, and the F1 that it is known to reach.

    Parameters
    ----------
    shuffles : int
        Of each classification: more at 90 %, where 1,031 vertices are left for the test (one shuffle's sd is .012).
    """

    name: str
    embed: Embed
    settings: str
    train_ratio: float
    micro_f1: float
    macro_f1: float | None
    tolerance: float
    seeds: int
    shuffles: int


def run(technique: Technique) -> Embed:
    """Return what embeds the whole graph by one of our techniques."""
    return lambda graph, seed: parge.embed(
        graph, parge.Plan(technique=technique, refine="none", engine="serial", seed=seed)
    )


def prone_by_the_paper(graph: parge.Graph, seed: int, dim: int = 128, mu: float = 0.2, theta: float = 0.5) -> Embedding:
    """Return ProNE's vectors computed with other people's decompositions and Bessel functions."""
    import scipy.linalg
    import scipy.sparse as sp
    from scipy.special import iv
    from sklearn.preprocessing import normalize
    from sklearn.utils.extmath import randomized_svd

    A = graph.to_scipy().astype(np.float64)
    odds = normalize(A, "l1").tocoo()
    noise = np.asarray(odds.sum(axis=0)).ravel() ** 0.75
    odds.data = np.log(odds.data) - np.log(noise / noise.sum())[odds.col]
    U, s, _ = randomized_svd(odds.tocsr(), dim, n_iter=5, random_state=seed)
    X = normalize(U * np.sqrt(s))
    loops = A + sp.identity(len(X))
    shifted = (1 - mu) * sp.identity(len(X)) - normalize(loops, "l1")
    terms = [X, 0.5 * (shifted @ (shifted @ X)) - X]
    while len(terms) < 10:
        terms.append(shifted @ (shifted @ terms[-1]) - 2 * terms[-1] - terms[-2])
    weights = [(1 if i == 0 else 2) * (-1) ** i * iv(i, theta) for i in range(len(terms))]
    filtered = loops @ (X - sum(weight * term for weight, term in zip(weights, terms, strict=True)))
    U, s, _ = scipy.linalg.svd(filtered, full_matrices=False)
    return Embedding(normalize(U * np.sqrt(s)).astype(np.float32), graph.outside_ids)


DEEPWALK = parge.DeepWalk(dim=128, walks=80, walk_length=40, window=10, learning_rate=0.025)
NETMF = parge.NetMF(dim=128, window=10, rank=256)
PRONE = parge.ProNE(dim=128, step=10, mu=0.2, theta=0.5)
PUBLISHED = (
    Published("deepwalk", run(DEEPWALK), repr(DEEPWALK), 0.5, 0.415, 0.277, 0.010, seeds=3, shuffles=10),
    Published("netmf", run(NETMF), repr(NETMF), 0.9, 0.435, None, 0.015, seeds=5, shuffles=20),
    Published("prone", run(PRONE), repr(PRONE), 0.9, 0.436, None, 0.015, seeds=5, shuffles=20),
    Published(
        "prone, by scikit-learn and scipy", prone_by_the_paper, "", 0.9, 0.436, None, 0.015, seeds=5, shuffles=20
    ),
)


def measure(graph: parge.Graph, labels: Labels, known: Published) -> dict[str, Any]:
    scores = [
        parge.evaluate.classify(
            known.embed(graph, seed), labels, train_ratio=known.train_ratio, repeats=known.shuffles, seed=seed
        )
        for seed in range(known.seeds)
    ]
    micro, macro = ([getattr(score, name).mean for score in scores] for name in ("micro_f1", "macro_f1"))
    return {
        "name": known.name,
        "settings": known.settings,
        "train_ratio": known.train_ratio,
        "seeds": known.seeds,
        "shuffles": known.shuffles,
        "micro_f1": float(np.mean(micro)),
        "micro_f1_sd": float(np.std(micro, ddof=1)),
        "macro_f1": float(np.mean(macro)),
        "published_micro_f1": known.micro_f1,
        "published_macro_f1": known.macro_f1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with blogcatalog.edges.gz and its labels")
    parser.add_argument("--only", help="those whose name starts like this")
    given = parser.parse_args()
    wanted = [known for known in PUBLISHED if known.name.startswith(given.only or "")]
    graph = parge.read(given.data / "blogcatalog.edges.gz", vertices=10_312)
    labels = read_labels(given.data / "blogcatalog.labels.gz", label_column="all")
    records, claims = [], []
    for known in wanted:
        record = measure(graph, labels, known)
        records.append(record)
        off = abs(record["micro_f1"] - known.micro_f1)
        claims.append(harness.Claim(f"{known.name}: micro-F1 off the published one", off, known.tolerance))
        print(claims[-1], flush=True)
    header = ["", "train", "seeds", "micro-F1", "published", "macro-F1", "published"]
    rows = [
        [
            known.name,
            f"{known.train_ratio:.0%}",
            known.seeds,
            f"{record['micro_f1']:.4f} ± {record['micro_f1_sd']:.4f}",
            known.micro_f1,
            f"{record['macro_f1']:.4f}",
            known.macro_f1 or "",
        ]
        for known, record in zip(wanted, records, strict=True)
    ]
    print(harness.markdown_table(header, rows))
    metadata = {"name": "blogcatalog", "vertices": graph.n_vertices, "edges": graph.n_edges}
    harness.Result("matches_published_f1", metadata, claims, records).finish()


if __name__ == "__main__":
    main()
