"""Claim: time and memory grow no faster than the graph, up to LiveJournal's size, on one small machine.

    python benchmarks/scales_with_edges.py                       0.1 to 34.5 M edges: two hours of one core
    python benchmarks/scales_with_edges.py --edges 0.1,0.35,1    quickly
    python benchmarks/scales_with_edges.py --constants           and keep the constants of `parge plan --estimate`
    python benchmarks/scales_with_edges.py --only-constants      those of the results that an earlier run has kept

Planted graphs of mean degree 17 (4.0 M vertices : 34.5 M edges), eight uneven workers, 3:3:4:4:5:5:6:6, each with
room for a tenth of the vertices beside its own, DeepWalk of 128 dimensions, 10 walks of 40 a vertex, window 5. Every
step is a process of its own: the coordinator reads, decomposes, embeds the landmarks and writes the part folders;
`parge embed-part` embeds each; the coordinator reconciles, merges, refines and writes. *Around* is what the coordinator
does but for landmarks, which belong to the embedding, and the pass over all vectors (refine). Beside it the same
technique and the same pass on the whole graph, in one process. Times are seconds of a core (imports included), which
other work on the machine lengthens little. Micro-F1 is of predicting the planted community (20 of them, drawn by their
number, at most 10,000 of their vertices, half of them to train on). Steps that are done are not done again.
"""

import argparse
import json
import math
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import estimate_constants
from harness import (
    FULL,
    RESULTS,
    Claim,
    Measured,
    Result,
    gigabytes,
    into_page_cache,
    labels_of,
    markdown_table,
    measure_call,
    measure_command,
    parge_command,
    planted_file,
)

EDGES = (0.1, 0.35, 1.0, 3.5, 10.0, 34.5)
PROPORTIONS = (3, 3, 4, 4, 5, 5, 6, 6)
ANCHOR_SHARE, SLACK = 0.10, 0.05
DIM, WALKS = 128, {"walks": 10, "walk_length": 40, "window": 5}
CLASSES, SCORED = 20, 10_000
FIGURE = RESULTS.parent / "docs" / "figures" / "scales-with-edges.svg"

MOST_WORKER, MOST_COORDINATOR, MOST_SHARE = 2e9, 4e9, 0.20
MOST_TIME_SLOPE, MOST_MEMORY_SLOPE = 1.1, 1.0


def capacities(n_vertices: int) -> list[int]:
    """Return k_i: the anchors, which every subgraph holds, and its share of the rest with some room."""
    n_anchors = round(ANCHOR_SHARE * n_vertices)
    own = (n_vertices - n_anchors) * (1 + SLACK) / sum(PROPORTIONS)
    return [n_anchors + int(own * share) + 1 for share in PROPORTIONS]


def decompose(path: str, n_vertices: int, run: str, reconcile: str | None, refine: str | None) -> dict[str, float]:
    """Read the graph, decompose it, embed landmarks, write the part folders; return the seconds of a core of each."""
    from parge.events import ignore
    from parge.run.open_run import open_run
    from parge.run.pipeline import shared_arrays, write_subgraphs

    clock = _Clock()
    graph = _read(path, n_vertices)
    clock("read")
    with open_run(graph, _plan(n_vertices, reconcile, refine), run_dir=run, resume=False, listener=ignore) as opened:
        clock("decompose")
        shared_arrays(opened)  # kept in the run's folder, where write_subgraphs finds it
        clock("landmarks")
        write_subgraphs(opened)
        clock("write parts")
        metadata = {"lost_edges": opened.decomposition.lost_edges, "reconcile": opened.plan.reconcile}
    return {**clock.seconds, **metadata}


def finish(run: str, out: str) -> dict[str, float]:
    """Reconcile, merge and refine the results of a run and write the vectors; return the seconds of a core of each."""
    from parge.embedding import Embedding
    from parge.events import ignore
    from parge.run.arrays import scratch_matrix
    from parge.run.open_run import open_planned
    from parge.run.pipeline import merge_parts, reconcile_parts, refine_vectors

    clock = _Clock()
    with open_planned(Path(run)) as opened:
        clock("check results")
        maps = reconcile_parts(opened, ignore)
        vectors = scratch_matrix(Path(run) / "embedding.npy", opened.shape)
        merge_parts(opened, maps, vectors)
        clock("reconcile")
        refinement = refine_vectors(opened, vectors, ignore, in_files=True)
        clock("refine")
        Embedding(vectors, opened.decomposition.graph.outside_ids).save(out)
        clock("write")
    return {**clock.seconds, "refined": refinement.name}


def whole(path: str, n_vertices: int, out: str, refine: str) -> dict[str, float]:
    """Embed the whole graph at once, by the same technique and the same pass; return the seconds of a core."""
    from parge.planning.plan import Plan
    from parge.run.pipeline import embed

    clock = _Clock()
    graph = _read(path, n_vertices)
    clock("read")
    embed(graph, Plan(technique=_technique(), parts=1, refine=refine, engine="serial")).save(out)
    clock("embed")
    return clock.seconds


def score(vectors: str, labels: str) -> dict[str, float]:
    """Return the micro-F1 of predicting planted communities from some of the vectors."""
    import numpy as np

    from parge.embedding import Embedding
    from parge.evaluate import classify

    found, known, rng = np.load(vectors, mmap_mode="r"), np.load(labels), np.random.default_rng(7)
    some = rng.choice(int(known.max()) + 1, CLASSES, replace=False)
    rows = np.flatnonzero(np.isin(known, some))
    rows = np.sort(rng.choice(rows, min(SCORED, rows.size), replace=False))
    label = dict(zip(rows.tolist(), known[rows].tolist(), strict=True))
    reported = classify(Embedding(np.array(found[rows]), rows), label, repeats=3, jobs=1).to_json()
    return {"micro_f1": reported["micro_f1"]["mean"], "sd": reported["micro_f1"]["sd"], "vertices": float(rows.size)}


class _Clock:
    """Seconds of a core since it was asked last, by name: what a busy machine does not lengthen."""

    def __init__(self) -> None:
        from time import process_time

        self._now, self.seconds = process_time, {}
        self._last = process_time()

    def __call__(self, name: str) -> None:
        now = self._now()
        self.seconds[name], self._last = now - self._last, now


def _read(path: str, n_vertices: int) -> Any:
    from parge.io.graphs.read import read

    return read(path, vertices=n_vertices)


def _technique() -> Any:
    from parge.techniques.deepwalk import DeepWalk

    return DeepWalk(dim=DIM, **WALKS)


def _plan(n_vertices: int, reconcile: str | None, refine: str | None) -> Any:
    from parge.planning.plan import Plan

    return Plan(technique=_technique(), capacities=capacities(n_vertices), reconcile=reconcile, refine=refine)


class Steps:
    """Measured steps of one size; each is done once and kept in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.done: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def __call__(self, name: str, work: Any) -> dict[str, Any]:
        """Return the step of that name, done now if it has not been."""
        if name not in self.done:
            measured: Measured = work()
            self.done[name] = {**measured.cost, "value": measured.value}
            self.file.write_text(json.dumps(self.done, indent=1))
            print(
                f"  {name}: {measured.cpu_seconds:.1f} s of a core, {gigabytes(measured.peak_bytes)}",
                file=sys.stderr,
                flush=True,
            )
        return self.done[name]


def measure(workdir: Path, millions: float, arguments: argparse.Namespace) -> dict[str, Any]:
    """Do, or find done, every step of one size; return the numbers."""
    n_edges = round(millions * 1e6)
    n_vertices = round(n_edges * FULL[0] / FULL[1])
    print(f"{n_vertices:,} vertices, {n_edges:,} edges", file=sys.stderr, flush=True)
    path = planted_file(workdir, n_vertices, n_edges)
    into_page_cache(path)
    place = workdir / f"scales-{n_edges}-{arguments.reconcile or 'default'}"
    place.mkdir(exist_ok=True)
    steps, run, out = Steps(place / "steps.json"), place / "run", place / "parts.npy"
    common = {"path": str(path), "n_vertices": n_vertices}
    if "decompose" not in steps.done:
        shutil.rmtree(run, ignore_errors=True)
    plan = {"reconcile": arguments.reconcile, "refine": arguments.refine}
    first = steps("decompose", lambda: measure_call("scales_with_edges:decompose", run=str(run), **common, **plan))
    with ThreadPoolExecutor(arguments.at_once) as pool:
        names = [(f"worker {i}", run / "parts" / f"{i:03d}") for i in range(len(PROPORTIONS))]
        workers = list(pool.map(lambda item: steps(item[0], lambda: _embed_part(item[1])), names))
    last = steps("finish", lambda: measure_call("scales_with_edges:finish", run=str(run), out=str(out)))
    refine = last["value"]["refined"]
    labels = str(labels_of(path))
    steps("score", lambda: measure_call("scales_with_edges:score", vectors=str(out), labels=labels))
    if millions <= arguments.whole_up_to:
        alone = place / "whole.npy"
        steps("whole", lambda: measure_call("scales_with_edges:whole", out=str(alone), refine=refine, **common))
        steps("whole score", lambda: measure_call("scales_with_edges:score", vectors=str(alone), labels=labels))
    return _row(n_vertices, n_edges, first, workers, last, steps.done)


def _embed_part(folder: Path) -> Measured:
    return measure_command(parge_command("embed-part", str(folder), "--json"))


def _row(
    n_vertices: int, n_edges: int, first: Any, workers: list[Any], last: Any, done: dict[str, Any]
) -> dict[str, Any]:
    stages = {name: seconds for name, seconds in first["value"].items() if name not in ("lost_edges", "reconcile")}
    stages |= {name: seconds for name, seconds in last["value"].items() if name != "refined"}
    embed = stages["landmarks"] + sum(worker["cpu_seconds"] for worker in workers)
    around = sum(seconds for name, seconds in stages.items() if name not in ("landmarks", "refine"))
    return {
        "vertices": n_vertices,
        "edges": n_edges,
        "reconcile": first["value"]["reconcile"],
        "refine": last["value"]["refined"],
        "lost_edges": first["value"]["lost_edges"],
        "stages": stages,
        "worker_seconds": [worker["cpu_seconds"] for worker in workers],
        "embed": embed,
        "around": around,
        "total": embed + around + stages["refine"],
        "worker_peak_bytes": [worker["peak_bytes"] for worker in workers],
        "coordinator_peak_bytes": max(first["peak_bytes"], last["peak_bytes"]),
        "micro_f1": done["score"]["value"]["micro_f1"],
        "whole": None
        if "whole score" not in done
        else {**done["whole"], "micro_f1": done["whole score"]["value"]["micro_f1"]},
    }


def slope(rows: list[dict[str, Any]], value: Any) -> float:
    """Return the slope of the line through the logarithms, by least squares."""
    x = [math.log(row["edges"]) for row in rows]
    y = [math.log(value(row)) for row in rows]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


def show(rows: list[dict[str, Any]]) -> None:
    def line(row: dict[str, Any]) -> list[str]:
        stages, alone = row["stages"], row["whole"]
        prepare = stages["read"], stages["decompose"], stages["write parts"], stages["landmarks"]
        after = stages["check results"] + stages["reconcile"], stages["refine"], stages["write"]
        return [
            f"{row['edges'] / 1e6:g} M",
            *(f"{seconds:.1f}" for seconds in prepare),
            f"{row['embed']:.0f} ({max(row['worker_seconds']):.0f})",
            *(f"{seconds:.1f}" for seconds in after),
            f"{row['around'] / row['embed']:.0%}",
            gigabytes(row["coordinator_peak_bytes"]),
            gigabytes(max(row["worker_peak_bytes"])),
            f"{row['lost_edges']:.1%}",
            f"{row['micro_f1']:.3f}",
            "–" if alone is None else f"{alone['micro_f1']:.3f}",
            "–" if alone is None else f"{alone['cpu_seconds']:.0f}",
            "–" if alone is None else gigabytes(alone["peak_bytes"]),
        ]

    header = ["edges", "read", "decompose", "write parts", "landmarks", "embed, all (slowest worker)", "reconcile"]
    header += ["refine", "write", "around / embed", "coordinator", "largest worker", "lost", "micro-F1"]
    header += ["whole graph", "its s", "its memory"]
    print(markdown_table(header, [line(row) for row in rows]))


def plot(rows: list[dict[str, Any]], target: Path) -> None:
    """Draw time and memory against edges, both logarithmic; dark where the reader's screen asks for it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    sys.path.append(str(Path(__file__).resolve().parents[1]))  # a part of the package `benchmarks`
    from benchmarks.paper.plots import DARK, INK, PAPER

    inks = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
    faces = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), PAPER)
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "parge", "font.size": 9, **inks, **faces}):
        figure, (times, sizes) = pyplot.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
        x = [row["edges"] for row in rows]
        alone = [row for row in rows if row["whole"]]
        for axis, unit, lines in (
            (
                times,
                "seconds of one core",
                {
                    "embedding, all workers": ("#2b83c6", "s", x, [row["embed"] for row in rows]),
                    "decompose, reconcile, files": ("#d55e00", "o", x, [row["around"] for row in rows]),
                    "refine": ("#009e73", "^", x, [max(row["stages"]["refine"], 1e-2) for row in rows]),
                    "the whole graph at once": (
                        "#808080",
                        "x",
                        [row["edges"] for row in alone],
                        [row["whole"]["cpu_seconds"] for row in alone],
                    ),
                },
            ),
            (
                sizes,
                "peak memory in GB",
                {
                    "coordinator": ("#d55e00", "o", x, [row["coordinator_peak_bytes"] / 1e9 for row in rows]),
                    "largest worker": ("#2b83c6", "s", x, [max(row["worker_peak_bytes"]) / 1e9 for row in rows]),
                    "the whole graph at once": (
                        "#808080",
                        "x",
                        [row["edges"] for row in alone],
                        [row["whole"]["peak_bytes"] / 1e9 for row in alone],
                    ),
                },
            ),
        ):
            for name, (colour, marker, across, up) in lines.items():
                axis.loglog(across, up, color=colour, marker=marker, label=name)
            axis.set_xlabel("edges")
            axis.set_ylabel(unit)
            axis.grid(alpha=0.3)
            axis.legend(frameon=False)
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, metadata={"Date": None})
        pyplot.close(figure)
    target.write_text(target.read_text().replace("</svg>", f"{DARK}\n</svg>"))


def claims(rows: list[dict[str, Any]]) -> list[Claim]:
    worst = max(rows, key=lambda row: row["edges"])
    found = [
        Claim("largest worker in GB", max(max(row["worker_peak_bytes"]) for row in rows) / 1e9, MOST_WORKER / 1e9),
        Claim("coordinator in GB", max(row["coordinator_peak_bytes"] for row in rows) / 1e9, MOST_COORDINATOR / 1e9),
        Claim("around / embed at the largest size", worst["around"] / worst["embed"], MOST_SHARE),
    ]
    if len(rows) > 1:
        found += [
            Claim("log-log slope of time", slope(rows, lambda row: row["total"]), MOST_TIME_SLOPE),
            Claim(
                "log-log slope of the coordinator's peak memory",
                slope(rows, lambda row: row["coordinator_peak_bytes"]),
                MOST_MEMORY_SLOPE,
            ),
        ]
    return found


def keep_constants(rows: list[dict[str, Any]]) -> None:
    """Write the constants of estimates: those of the largest size, where starting processes matters least."""
    largest = max(rows, key=lambda row: row["edges"])
    if largest["edges"] < EDGES[-1] * 1e6:
        raise SystemExit(f"constants are of {EDGES[-1]:g} M edges; the largest graph measured has {largest['edges']:,}")
    print(estimate_constants.keep(estimate_constants.of_scaling(largest)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", default=",".join(map(str, EDGES)), help="in millions, with commas between")
    parser.add_argument("--reconcile", help="instead of the plan's own")
    parser.add_argument("--refine", help="instead of the technique's own")
    parser.add_argument("--whole-up-to", type=float, default=EDGES[-1], help="millions of edges embedded at once, too")
    parser.add_argument("--at-once", type=int, default=1, help="workers embedded at a time")
    parser.add_argument("--workdir", type=Path, default=Path(tempfile.gettempdir()) / "parge-benchmarks")
    parser.add_argument("--constants", action="store_true", help="keep what `parge plan --estimate` multiplies")
    parser.add_argument("--only-constants", action="store_true", help="from earlier results; measure nothing")
    arguments = parser.parse_args()
    if arguments.only_constants:
        keep_constants(json.loads((RESULTS / "scales_with_edges.json").read_text())["runs"])
        return
    sizes = [float(text) for text in arguments.edges.split(",")]
    rows = [measure(arguments.workdir, millions, arguments) for millions in sizes]
    show(rows)
    plot(rows, FIGURE)
    Result("scales_with_edges", {"edges": sizes, "reconcile": rows[0]["reconcile"]}, claims(rows), rows).finish()
    if arguments.constants:
        keep_constants(rows)


if __name__ == "__main__":
    main()
