"""Claim: centralised DeepWalk, NetMF and ProNE reach their published micro-F1 on BlogCatalog: what parts lose is real.

DeepWalk, 80 walks of 40 steps, window 10, 50 % for training: .415. NetMF (window 10, 256 eigenpairs), 90 %: .435; both
as Qiu et al. (2018) report them. ProNE, 90 %: .436 (Zhang et al. 2019). All by the known-count protocol, d = 128.
(DeepWalk's macro-F1 of .277 was reached with hierarchical softmax; ours samples negatives.)
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import harness
import parge
from parge.evaluate.labels import Labels, read_labels
from parge.techniques.base import Technique

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Published:
    """A technique, and the F1 that it is known to reach."""

    technique: Technique
    train_ratio: float
    micro_f1: float
    macro_f1: float | None
    tolerance: float


# word2vec's own rate: our default, twice that, suits 10 walks; with 80 it scores .405 (.409 at .025, .408 at .015).
RATE = 0.025

PUBLISHED = (
    Published(
        parge.DeepWalk(dim=128, walks=80, walk_length=40, window=10, learning_rate=RATE), 0.5, 0.415, 0.277, 0.010
    ),
    Published(parge.NetMF(dim=128, window=10, rank=256), 0.9, 0.435, None, 0.015),
    Published(parge.ProNE(dim=128), 0.9, 0.436, None, 0.015),
)


def measure(graph: parge.Graph, labels: Labels, known: Published, seeds: int) -> dict[str, Any]:
    plans = [parge.Plan(technique=known.technique, refine="none", seed=seed) for seed in range(seeds)]
    runs = [parge.embed(graph, plan) for plan in plans]
    scores = [
        parge.evaluate.classify(run, labels, train_ratio=known.train_ratio, seed=seed) for seed, run in enumerate(runs)
    ]
    micro, macro = ([getattr(score, name).mean for score in scores] for name in ("micro_f1", "macro_f1"))
    return {
        "technique": repr(known.technique),
        "train_ratio": known.train_ratio,
        "micro_f1": float(np.mean(micro)),
        "micro_f1_sd": float(np.std(micro, ddof=1)) if seeds > 1 else 0.0,
        "macro_f1": float(np.mean(macro)),
        "published_micro_f1": known.micro_f1,
        "published_macro_f1": known.macro_f1,
        "seconds": float(np.mean([run.report["parts"][0]["seconds"] for run in runs])),
        "peak_bytes": max(run.report["parts"][0]["peak_bytes"] for run in runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with blogcatalog.edges.gz and its labels")
    parser.add_argument("--only", help="one technique by name")
    given = parser.parse_args()
    wanted = [known for known in PUBLISHED if given.only in (None, known.technique.name)]
    graph = parge.read(given.data / "blogcatalog.edges.gz", vertices=10_312)
    labels = read_labels(given.data / "blogcatalog.labels.gz")
    records, claims = [], []
    for known in wanted:
        record = measure(graph, labels, known, given.seeds)
        records.append(record)
        off = abs(record["micro_f1"] - known.micro_f1)
        claims.append(harness.Claim(f"{known.technique.name}: micro-F1 off the published one", off, known.tolerance))
    header = ["technique", "train", "micro-F1", "published", "macro-F1", "published", "s"]
    rows = [
        [
            known.technique.name,
            f"{known.train_ratio:.0%}",
            f"{record['micro_f1']:.4f} ± {record['micro_f1_sd']:.4f}",
            known.micro_f1,
            f"{record['macro_f1']:.4f}",
            known.macro_f1 or "–",
            f"{record['seconds']:.0f}",
        ]
        for known, record in zip(wanted, records, strict=True)
    ]
    print(harness.markdown_table(header, rows))
    facts = {"name": "blogcatalog", "vertices": graph.n_vertices, "edges": graph.n_edges}
    harness.Result("matches_published_f1", facts, claims, records).finish()


if __name__ == "__main__":
    main()
