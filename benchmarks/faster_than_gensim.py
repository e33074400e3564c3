"""Claim: walk embeddings here take a tenth of gensim's time or less, at the same F1, near the limit of the core.

Every ratio is of one run on one pinned core, at equal settings, with known-count micro-F1 (half of the labelled
vertices train) beside each time. Times are seconds on a core (CPU time), so that a busy machine does not lengthen
them; ours include the walks, gensim's do not: it gets the very walks that ours draws, as lists, its vocabulary built.

gensim comes with the extra ``bench``; pecanpy wants an older numpy, so it lives in an environment of its own::

    pip install -e '.[bench]'
    python3 -m venv .venv-pecanpy && .venv-pecanpy/bin/pip install pecanpy==2.0.9 gensim==4.4.0
    python benchmarks/faster_than_gensim.py                      # all sections that have no result yet
    python benchmarks/faster_than_gensim.py --only blogcatalog   # one of them, again

What is not installed is skipped with a reason. Each section is kept in results/faster_than_gensim.json when it is done.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import competitors
import harness
import kernel_near_peak
import parge
from parge.events import silent
from parge.graph.subgraph import Subgraph
from parge.kernels import splitmix, walks
from parge.skipgram import train
from parge.techniques.base import Technique

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
PECANPY = ROOT / ".venv-pecanpy" / "bin" / "python"
TOLERANCE = 0.005

LONG = parge.DeepWalk(dim=128, walks=10, walk_length=80, window=10, negatives=5)
SHORT = replace(LONG, walk_length=40, window=5)


class Skip(Exception):  # noqa: N818  no error: something is not installed
    """Why a section cannot be measured here."""


@dataclass(frozen=True)
class Case:
    """A graph, its labels, and how often its classification is repeated."""

    name: str
    graph: parge.Graph
    labels: Path
    repeats: int = 10

    def score(self, vectors: Any) -> float:
        """Return the micro-F1 of vectors."""
        embedding = parge.Embedding(vectors, self.graph.outside_ids)
        scores = parge.evaluate.classify(embedding, self.labels, train_ratio=0.5, repeats=self.repeats)
        return float(scores.micro_f1.mean)


@dataclass(frozen=True)
class Section:
    """What one section found."""

    runs: list[dict[str, Any]]
    claims: list[harness.Claim]


def read(data: Path, name: str, repeats: int = 10) -> Case:
    metadata = json.loads((data / "datasets.json").read_text())
    n_vertices = (metadata.get("datasets") or metadata)[name]["vertices"]
    return Case(name, parge.read(data / f"{name}.edges.gz", vertices=n_vertices), data / f"{name}.labels.gz", repeats)


def ours(case: Case, technique: Technique, seed: int) -> dict[str, Any]:
    """Embed once, walks included, and score."""
    replace(technique, walks=1, walk_length=2).embed(Subgraph.whole(case.graph), np.random.default_rng(0))  # compiles
    start, wall = time.process_time(), time.perf_counter()
    vectors = technique.embed(Subgraph.whole(case.graph), np.random.default_rng(seed))
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    return reported("parge", case, seed, seconds, vectors, wall_seconds=wall)


def gensim(case: Case, technique: parge.DeepWalk, seed: int) -> dict[str, Any]:
    """Train gensim on the walks that ours draws from this seed, and score."""
    vectors, metadata = competitors.embed_with(
        sys.executable, settings_of(case, technique, seed), walks=same_walks(case.graph, technique, seed)
    )
    return reported("gensim", case, seed, metadata["train_seconds"], vectors, **metadata)


def pecanpy(case: Case, technique: Technique, python: Path, seed: int) -> dict[str, Any]:
    """Walk with pecanpy, train with gensim, and score; the seconds are those of training."""
    rows = {"indptr": case.graph.indptr, "indices": case.graph.indices}
    vectors, metadata = competitors.embed_with(str(python), settings_of(case, technique, seed), **rows)
    return reported("pecanpy + gensim", case, seed, metadata["train_seconds"], vectors, **metadata)


def reported(name: str, case: Case, seed: int, seconds: float, vectors: Any, **more: Any) -> dict[str, Any]:
    run = {"name": name, "graph": case.name, "seed": seed, "seconds": seconds, "micro_f1": case.score(vectors), **more}
    print(f"  {name:18} {case.name:15} seed {seed}: {seconds:7.2f} s, micro-F1 {run['micro_f1']:.4f}", flush=True)
    return run


def settings_of(case: Case, technique: Technique, seed: int) -> dict[str, Any]:
    fields = {"p": 1.0, "q": 1.0, **asdict(technique)}
    return {**fields, "vertices": case.graph.n_vertices, "seed": seed}


def same_walks(graph: parge.Graph, technique: parge.DeepWalk, seed: int) -> Any:
    """Return all walks that our technique draws from a seed, in its order."""
    rng = np.random.default_rng(seed)
    key = rng.integers(2**64, dtype=np.uint64)
    rows, starts = train.walk_rows(graph), train.connected_vertices(graph)
    parts = []
    for batch in train.walk_batches(starts, technique.walks, technique.walk_length, rng):
        steps = np.empty((batch.starts.size, technique.walk_length), starts.dtype)
        walks.fill_walks(rows, batch.starts, splitmix.item_keys(key, batch.repetition, batch.starts), steps)
        parts.append(steps)
    return np.concatenate(parts)


def mean(runs: Sequence[dict[str, Any]], name: str, field: str = "seconds") -> float:
    return float(np.mean([run[field] for run in runs if run["name"] == name]))


def against(runs: list[dict[str, Any]], other: str, least: float, text: str) -> Section:
    """Claim a ratio of times and a gap of F1 between ours and another's."""
    ratio = mean(runs, other) / mean(runs, "parge")
    gap = mean(runs, other, "micro_f1") - mean(runs, "parge", "micro_f1")
    return Section(
        runs,
        [
            harness.Claim(f"{text}: times as fast as {other}", ratio, least, at_least=True),
            harness.Claim(f"{text}: micro-F1 below {other}", gap, TOLERANCE),
        ],
    )


def blogcatalog(options: argparse.Namespace) -> Section:
    """BlogCatalog, 10 walks x 80, window 10, three seeds."""
    need(sys.executable, "gensim")
    case = read(options.data, "blogcatalog")
    runs = [run for seed in (1, 2, 3) for run in (ours(case, LONG, seed), gensim(case, LONG, seed))]
    return against(runs, "gensim", 10.0, "BlogCatalog")


def youtube(options: argparse.Namespace) -> Section:
    """youtube-groups (tables of 79 MB, larger than the last cache), 2 walks x 80, window 10, one seed."""
    return large_tables(options, replace(LONG, walks=2), "youtube-groups")


def youtube_short(options: argparse.Namespace) -> Section:
    """youtube-groups, 10 walks x 40, window 5, one seed: fewer pairs for each row that comes from memory."""
    return large_tables(options, SHORT, "youtube-groups, window 5")


def large_tables(options: argparse.Namespace, technique: parge.DeepWalk, text: str) -> Section:
    need(sys.executable, "gensim")
    case = read(options.data, "youtube-groups", repeats=3)
    return against([ours(case, technique, 1), gensim(case, technique, 1)], "gensim", 12.0, text)


def first_order(options: argparse.Namespace) -> Section:
    """The walks of pecanpy's FirstOrderUnweighted and gensim, BlogCatalog, 10 walks x 80, window 10, one seed."""
    return against_pecanpy(options, LONG, "first order")


def second_order(options: argparse.Namespace) -> Section:
    """The walks of pecanpy's SparseOTF, p = 0.5, q = 2, and gensim, BlogCatalog, 10 walks x 80, window 10, one seed."""
    fields = {name: value for name, value in asdict(LONG).items() if name not in {"p", "q"}}
    return against_pecanpy(options, parge.Node2Vec(p=0.5, q=2.0, **fields), "p = 0.5, q = 2")


def against_pecanpy(options: argparse.Namespace, technique: Technique, text: str) -> Section:
    need(str(options.pecanpy), "pecanpy", "gensim")
    case = read(options.data, "blogcatalog")
    runs = [ours(case, technique, 1), pecanpy(case, technique, options.pecanpy, 1)]
    section = against(runs, "pecanpy + gensim", 10.0, f"{text}, walks of ours only")
    both = (runs[1]["walk_seconds"] + runs[1]["train_seconds"]) / runs[0]["seconds"]
    return replace(
        section, claims=[*section.claims, harness.Claim(f"{text}, walks of both", both, 10.0, at_least=True)]
    )


def peak(options: argparse.Namespace) -> Section:
    """The kernel's GFLOP/s against the core's multiply-adds in registers."""
    graph = read(options.data, "blogcatalog").graph
    found = kernel_near_peak.measure(graph, dim=128, window=10, walk_length=80, n_walks=5000)
    speeds = ", ".join(f"{name} {value:.1f}" for name, value in found["gflops"].items())
    print(f"  GFLOP/s: {speeds}")
    return Section([found], [harness.Claim("share of the core's peak", found["share"], 0.5, at_least=True)])


def steps(options: argparse.Namespace) -> Section:
    """What drawing walks costs on BlogCatalog, first and second order (p = 0.5, q = 2)."""
    graph = read(options.data, "blogcatalog").graph
    rows, starts = train.walk_rows(graph), np.random.default_rng(1).permutation(train.connected_vertices(graph))
    keys = splitmix.item_keys(np.uint64(1), 0, starts)
    drawn = np.empty((starts.size, 80), starts.dtype)
    best = {"first order": np.inf, "second order": np.inf}
    for turn in range(4):
        for name, draw in (
            ("first order", lambda: walks.fill_walks(rows, starts, keys, drawn)),
            ("second order", lambda: walks.fill_biased_walks(rows, starts, keys, 0.5, 2.0, drawn)),
        ):
            started = time.thread_time()
            draw()
            if turn:  # the first turn compiles
                best[name] = min(best[name], (time.thread_time() - started) / drawn.size)
    print(*(f"  {name}: {1e9 * seconds:.0f} ns a step, best of 3" for name, seconds in best.items()), sep="\n")
    return Section([{"name": name, "step_seconds": seconds} for name, seconds in best.items()], [])


START = """
import time
import numpy as np
import parge
from parge.graph.subgraph import Subgraph
import parge.skipgram.train
graph = Subgraph.whole(parge.Graph.from_edges([0, 1, 2], [1, 2, 0]))
started = time.process_time()
from parge.kernels import skipgram_ir
skipgram_ir.is_usable(5)
kernel = time.process_time() - started
parge.DeepWalk(walks=1, walk_length=2).embed(graph, np.random.default_rng(1))
print(kernel, time.process_time() - started)
"""


def start(_: argparse.Namespace) -> Section:
    """Compiling on an empty cache, and loading what was compiled."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = []
        for name in ("compiled", "loaded"):
            done = subprocess.run(
                [sys.executable, "-c", START], env=environment, capture_output=True, text=True, check=True
            )
            kernel, everything = map(float, done.stdout.split())
            runs.append({"name": name, "kernel_seconds": kernel, "embed_seconds": everything})
            print(f"  {name}: training kernel {kernel:.2f} s, all that a first DeepWalk needs {everything:.2f} s")
    return Section(
        runs,
        [
            harness.Claim("compiling the training kernel, s", runs[0]["kernel_seconds"], 4.0),
            harness.Claim("loading all that DeepWalk needs from the cache, s", runs[1]["embed_seconds"], 0.5),
        ],
    )


def progress(options: argparse.Namespace) -> Section:
    """What a batch costs beyond its walks, reporting included: batches of one walk of two steps, against full ones."""
    graph = Subgraph.whole(read(options.data, "blogcatalog").graph)

    def seconds(technique: Technique, report: Callable[[float], None]) -> float:
        started = time.process_time()
        technique.embed(graph, np.random.default_rng(1), progress=report)
        return time.process_time() - started

    n_reports = 0
    with Path(os.devnull).open("w") as sink:

        def report(share: float) -> None:
            nonlocal n_reports
            n_reports += 1
            print(f"{share:.4f}", file=sink, flush=True)

        seconds(replace(LONG, walks=1, walk_length=2), silent)
        whole = seconds(replace(LONG, walks=3), report)
        n_whole, n_reports = n_reports, 0
        # Walks of 2 vertices in batches of 32, LANES at least: hardly anything but the batch itself.
        kept, train.BATCH_STEPS = train.BATCH_STEPS, 1
        short = replace(LONG, walks=3, walk_length=2)
        many = seconds(short, report)
        train.BATCH_STEPS = kept
        few = seconds(short, silent)
    each = (many - few) / n_reports
    share = each * n_whole / whole
    print(f"  {1e6 * each:.0f} µs a batch, {n_whole} batches in {whole:.2f} s")
    return Section(
        [{"batch_seconds": each, "batches": n_whole, "seconds": whole}],
        [harness.Claim("share of the time spent between batches", share, 0.01)],
    )


def hogwild(options: argparse.Namespace) -> Section:
    """BlogCatalog, 10 walks x 80, window 10, on one thread and on two, three seeds; wall time, on all cores."""
    os.sched_setaffinity(0, options.cores)
    if len(options.cores) < 2:
        raise Skip("one core only")
    case = read(options.data, "blogcatalog")
    runs = []
    for seed in (1, 2, 3):
        for name, technique in (("1 thread", LONG), ("2 threads", replace(LONG, threads=2, mode="hogwild"))):
            load = os.getloadavg()[0]
            runs.append({**ours(case, technique, seed), "name": name, "load": load})
            print(f"  {name}: {runs[-1]['wall_seconds']:.2f} s of wall time, load before {load:.1f}")
    one, two = ([run for run in runs if run["name"] == name] for name in ("1 thread", "2 threads"))
    wall = min(run["wall_seconds"] for run in one) / min(run["wall_seconds"] for run in two)
    cost = mean(two, "2 threads") / mean(one, "1 thread")
    print(f"  seconds on a core of 2 threads against 1 thread: {cost:.2f} (above 1: they hinder each other)")
    gap = mean(one, "1 thread", "micro_f1") - mean(two, "2 threads", "micro_f1")
    return Section(
        runs,
        [
            harness.Claim("hogwild on 2 threads, times as fast as 1 (wall, best of 3)", wall, 1.8, at_least=True),
            harness.Claim("hogwild: micro-F1 below one thread", gap, TOLERANCE),
        ],
    )


def spectral(options: argparse.Namespace) -> Section:
    """DeepWalk, ProNE and NetMF at their default settings on three graphs; three seeds, on the largest graph one."""
    runs = []
    for name, repeats, seeds in (("cora", 10, 3), ("blogcatalog", 5, 3), ("youtube-groups", 3, 1)):
        case = read(options.data, name, repeats)
        for technique in (parge.DeepWalk(), parge.ProNE(), parge.NetMF()):
            if isinstance(technique, parge.NetMF) and case.graph.n_vertices > 20_000:
                continue  # its time is quadratic
            for seed in range(1, seeds + 1):
                started = time.process_time()
                vectors = technique.embed(Subgraph.whole(case.graph), np.random.default_rng(seed))
                runs.append(reported(technique.name, case, seed, time.process_time() - started, vectors))
    return Section(runs, [])


def need(python: str, *packages: str) -> None:
    if reason := competitors.missing(python, *packages):
        raise Skip(f"{' and '.join(packages)} cannot be run: {reason}")


SECTIONS: dict[str, Callable[[argparse.Namespace], Section]] = {
    "peak": peak,
    "walks": steps,
    "start": start,
    "progress": progress,
    "blogcatalog": blogcatalog,
    "youtube": youtube,
    "youtube-window-5": youtube_short,
    "pecanpy-first-order": first_order,
    "pecanpy-second-order": second_order,
    "hogwild": hogwild,
    "spectral": spectral,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=SECTIONS, help="measure this section, again if need be")
    parser.add_argument("--again", action="store_true", help="measure all sections again")
    parser.add_argument("--data", type=Path, default=SHARED, help=f"folder of graphs and labels [default: {SHARED}]")
    parser.add_argument("--pecanpy", type=Path, default=PECANPY, help="Python that has pecanpy")
    parser.add_argument("--result", type=Path, default=harness.RESULTS / "faster_than_gensim.json")
    options = parser.parse_args()
    options.cores = os.sched_getaffinity(0)
    kept: dict[str, Any] = json.loads(options.result.read_text()) if options.result.exists() else {}
    for name in options.only or SECTIONS:
        if name in kept and not options.only and not options.again:
            continue
        print(f"{name}: {SECTIONS[name].__doc__}", flush=True)
        os.sched_setaffinity(0, {max(options.cores)})
        machine = harness.machine()
        try:
            section = SECTIONS[name](options)
        except Skip as reason:
            print(f"  skipped: {reason}")
            continue
        claims = [{**asdict(claim), "kept": claim.kept, "shown": str(claim)} for claim in section.claims]
        kept[name] = {"claims": claims, "runs": section.runs, "versions": harness.versions(), "machine": machine}
        options.result.parent.mkdir(exist_ok=True)
        options.result.write_text(json.dumps(kept, indent=1) + "\n")
        print(*(f"  {claim}" for claim in section.claims), sep="\n", flush=True)
    print(f"\n{options.result}")
    for name, section in kept.items():
        print(*(f"{name}: {claim['shown']}" for claim in section["claims"]), sep="\n")


if __name__ == "__main__":
    main()
