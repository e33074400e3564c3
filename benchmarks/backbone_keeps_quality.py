"""Claim: DeepWalk in 8 parts around a backbone scores as the whole graph at once does, refined or not, sparse or dense.

From the project's root (the real graphs are left out where there are none)::

    python benchmarks/backbone_keeps_quality.py --json result.json

Known-count micro-F1 at 50 % for training, five shuffles, mean and spread over seeds; share of the centralised score
with the same pass. *Tight*: within capacities that a tenth of the vertices as anchors would fill. Time by the paper's
metric: centralised embedding / (backbone + slowest worker), in one run.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import parge
from quality.methods import capacities
from refine_helps import graphs

METHODS = ("centralised", "consensus", "backbone", "backbone, tight")


def scores(graph: parge.Graph, labels: Path, parts: int, seed: int) -> dict[str, float]:
    found: dict[str, float] = {}
    seconds = {}
    for method in METHODS:
        given: dict[str, Any] = {"parts": 1} if method == "centralised" else {"parts": parts, "reconcile": method}
        if method == "backbone, tight":
            given = {"capacities": capacities(graph.n_vertices, parts), "reconcile": "backbone"}
        for refine in ("none", "whiten"):
            plan = parge.Plan(technique="deepwalk", refine=refine, engine="serial", seed=seed, **given)
            embedding = parge.embed(graph, plan)
            found[f"{method}, {refine}"] = parge.evaluate.classify(
                embedding, labels, repeats=5, seed=seed
            ).micro_f1.mean
            report = embedding.report
            seconds[method] = max(report.worker_seconds) + report.seconds.prepare
    found["speed-up, consensus"] = seconds["centralised"] / seconds["consensus"]
    found["speed-up, backbone"] = seconds["centralised"] / seconds["backbone"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--only", action="append", default=[], help="A graph; repeatable.")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for name, graph, labels in graphs(Path(folder), options.only):
            runs = [scores(graph, labels, options.parts, seed) for seed in range(1, options.seeds + 1)]
            row = {key: [float(np.mean(v)), float(np.std(v))] for key in runs[0] if (v := [r[key] for r in runs])}
            rows.append({"graph": name, "parts": options.parts, "seeds": options.seeds, **row})
            shown = "; ".join(f"{key}: {mean:.4f} ± {sd:.4f}" for key, (mean, sd) in row.items())
            print(f"{name}: {shown}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
