"""Claim: a refine pass closes most of what parts cost: DeepWalk with `whiten`, HOPE with `subspace`, in 8 parts.

From the project's root (the real graphs are left out where there are none)::

    python benchmarks/refine_helps.py --json result.json

Known-count micro-F1 at 50 % for training, five shuffles, mean and spread over seeds; centralised and in 8 parts, each
without and with the pass, and the pass's own time as a share of the centralised embedding's (one core).
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import parge
from parge.graph.generate import planted, tree
from parge.io.labels import write_labels

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PASSES = {
    "deepwalk": ("whiten",),
    "hope": ("subspace",),
    "netmf": ("propagate", "whiten", "settle"),
    "prone": ("propagate", "whiten", "settle"),
}


def graphs(folder: Path, names: list[str]) -> Iterator[tuple[str, parge.Graph, Path]]:
    made = {
        "planted, mean degree 15": lambda: planted(8_000, 60_000, mixing=0.6, labels_per_vertex=1.3, seed=1),
        "planted, mean degree 4": lambda: planted(10_000, 20_000, mixing=0.2, seed=5),
        "tree, mean degree 3": lambda: tree(20_000, seed=3),
    }
    for name, make in made.items():
        if not names or name in names:
            found = make()
            write_labels(folder / "labels.txt", found.graph.outside_ids, found.labels)
            yield name, found.graph, folder / "labels.txt"
    for name in ("cora", "blogcatalog"):
        if (SHARED / f"{name}.edges.gz").exists() and (not names or name in names):
            n_vertices = json.loads((SHARED / "datasets.json").read_text())[name]["vertices"]
            yield name, parge.read(SHARED / f"{name}.edges.gz", vertices=n_vertices), SHARED / f"{name}.labels.gz"


def scores(graph: parge.Graph, labels: Path, technique: str, seed: int) -> dict[str, float]:
    found = {}
    for parts in (1, 8):
        for refine in ("none", *PASSES[technique]):
            started = time.process_time()
            plan = parge.Plan(technique=technique, parts=parts, refine=refine, engine="serial", seed=seed)
            embedding = parge.embed(graph, plan)
            if parts == 1 and refine == "none":
                alone = time.process_time() - started
            title = f"{'centralised' if parts == 1 else '8 parts'}, {refine}"
            found[title] = parge.evaluate.classify(embedding, labels, repeats=5, seed=seed).micro_f1.mean
    found["pass / centralised time"] = embedding.report.seconds.refine / alone
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append", default=[], help="A graph; repeatable.")
    parser.add_argument(
        "--technique", action="append", choices=list(PASSES), help="Repeatable; deepwalk and hope by default."
    )
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for name, graph, labels in graphs(Path(folder), options.only):
            for technique in options.technique or ("deepwalk", "hope"):
                runs = [scores(graph, labels, technique, seed) for seed in range(1, options.seeds + 1)]
                row = {key: [float(np.mean(v)), float(np.std(v))] for key in runs[0] if (v := [r[key] for r in runs])}
                rows.append({"graph": name, "technique": technique, "seeds": options.seeds, **row})
                shown = "; ".join(f"{key}: {mean:.4f} ± {sd:.4f}" for key, (mean, sd) in row.items())
                print(f"{name}, {technique}: {shown}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
