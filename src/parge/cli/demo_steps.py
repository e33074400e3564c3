"""The steps of `parge demo`: refused whole, embedded in parts, killed and resumed, as good as the whole graph."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.padding import Padding
from rich.table import Table

from parge.cli import show
from parge.embedding import Embedding
from parge.errors import PargeError
from parge.evaluate.labels import Labels, read_labels
from parge.events import Listener, Step
from parge.graph.graph import Graph
from parge.ids import positions
from parge.io.graphs.read import read
from parge.memory import format_bytes, parse_bytes
from parge.planning.plan import Plan
from parge.report.page import write_report
from parge.report.quality import Quality, judge
from parge.run.folder import RunFolder
from parge.run.open_run import open_run
from parge.run.pipeline import embed, write_subgraphs
from parge.run.status import status
from parge.seeds import keyed_rng
from parge.techniques.deepwalk import DeepWalk

GRAPH, VERTICES, LABELS = "graph.txt", "graph.vertices.txt", "labels.txt"
VECTORS, PAGE, RUN = "embedding.parquet", "report.html", "run"

# What each worker may take, reserved memory included. A worker with the whole graph used 283 MB, the largest of 8
# workers 119 MB (`make bench-front`, 3 seeds); 284 MB is the bound of the plan for these parts.
LIMIT = "290MB"
FEWEST_PARTS = 8

# Labelled vertices that are scored: more would only take longer.
_SCORED = 4_000

# Vertices that come later, and the edges of each.
_NEW, _NEW_EDGES = 100, 5


@dataclass(frozen=True)
class Demo:
    """What is embedded: the folder with the graph, the technique, the number of parts."""

    out: Path
    technique: DeepWalk
    parts: int
    seed: int

    @property
    def limits(self) -> list[str] | None:
        """One limit per worker, where the parts are small enough for it and the system keeps limits."""
        return [LIMIT] * self.parts if self.parts >= FEWEST_PARTS and sys.platform == "linux" else None

    @property
    def plan(self) -> Plan:
        """The run in parts."""
        limits = self.limits
        if limits is None:
            return Plan(technique=self.technique, seed=self.seed, parts=self.parts)
        return Plan(technique=self.technique, seed=self.seed, memory=limits)

    @property
    def args(self) -> list[str]:
        """The same plan as arguments of the command line."""
        size = ["--parts", str(self.parts)] if self.limits is None else ["--memory", ",".join(self.limits)]
        walks = ["--param", f"walks={self.technique.walks}"]
        return [*size, "--dim", str(self.technique.dim), *walks, "--seed", str(self.seed)]


def run_demo(demo: Demo) -> None:
    """Run all steps and print what happens, and what to do next."""
    started = time.monotonic()
    with show.run_progress() as listener:
        vertices = demo.out / VERTICES
        graph = read(demo.out / GRAPH, vertices=vertices if vertices.exists() else None)
        _say(f"1. A graph of {graph.n_vertices:,} vertices and {graph.n_edges:,} edges: {demo.out / GRAPH}")
        _say("   The first run on a machine compiles code: up to a minute more, once.")
        if demo.limits is not None:
            _refuse_whole(demo, graph, listener)
        embedding = _in_parts(demo, graph, listener)
        _say("4. The same graph on one worker with all the memory it wants.")
        whole = embed(graph, Plan(technique=demo.technique, seed=demo.seed, parts=1), listener=listener)
        labels = read_labels(demo.out / LABELS)
        scored = _some(labels)
        _place_new(embedding, labels, listener)
        finish(demo.out / RUN, demo.out, "A generated graph", labels, embedding, whole, listener, scored)
    RunFolder(demo.out / RUN).discard()
    _say(f"All this took {time.monotonic() - started:.0f} s.")


def _say(text: str, *, command: bool = False) -> None:
    """Print a line; one that is broken goes on below its words, and commands are not broken."""
    show.print_above(text if command else Padding(text.lstrip(), (0, 0, 0, len(text) - len(text.lstrip()))))


def _refuse_whole(demo: Demo, graph: Graph, listener: Listener) -> None:
    """Give the whole graph to one worker under the limit, and print what the system answers."""
    listener(Step("embed", f"the whole graph on one worker with {LIMIT}"))
    with TemporaryDirectory(prefix="parge-whole-") as folder:
        plan = Plan(technique=demo.technique, seed=demo.seed, parts=1)
        with open_run(graph, plan, run_dir=Path(folder) / RUN, resume=False, listener=lambda _: None) as run:
            write_subgraphs(run)
            part = run.folder.part(0)
        said = limited(["embed-part", str(part)])
    _say(f"2. One worker that may take {LIMIT} (ulimit -d {parse_bytes(LIMIT) // 1024}) gets the whole graph:")
    for line in said:
        _say(f"     {line.replace(folder, str(demo.out))}")
    _say("     (The limit counts memory that is reserved, too; the table below has what was used.)")


def limited(args: Sequence[str]) -> list[str]:
    """Run a command under the limit and return its last lines."""
    import resource

    limit = parse_bytes(LIMIT)

    def keep() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-P", "-m", "parge", *args], preexec_fn=keep, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return ["It fits, so this graph does not need parts."]
    return [line for line in done.stderr.splitlines() if line.startswith("Error")] or done.stderr.splitlines()[-1:]


def _in_parts(demo: Demo, graph: Graph, listener: Listener) -> Embedding:
    """Embed in parts in another process, kill that, and resume here."""
    run = demo.out / RUN
    limit = "" if demo.limits is None else f" of at most {LIMIT}"
    _say(f"3. {demo.parts} workers{limit} get a part each. The run is killed in the middle:")
    done = _killed(demo, run, listener)
    _say(f"     killed (signal 9) with {done} of {demo.parts} parts done; resumed from {run}")
    resume = (run / "plan").exists()
    embedding = embed(graph, demo.plan, run_dir=run, resume=resume, listener=listener)
    peak = format_bytes(max(embedding.report.worker_peaks))
    _say(f"     finished: no worker took more than {peak}")
    return embedding


def _killed(demo: Demo, run: Path, listener: Listener) -> int:
    """Start the run as a user would, kill all its processes when a third of the parts is done; return how many."""
    listener(Step("embed", "in another process, which is killed"))
    vertices = demo.out / VERTICES
    more = ["--vertices", str(vertices)] if vertices.exists() else []
    with TemporaryDirectory(prefix="parge-killed-") as folder:
        args = ["embed", str(demo.out / GRAPH), "-o", f"{folder}/never.npy", "--run-dir", str(run), *more]
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "parge", *args, *demo.args],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            while process.poll() is None and _done(run) < max(1, demo.parts // 3):
                time.sleep(0.1)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return _done(run)


def _done(run: Path) -> int:
    try:
        return sum(part.state == "done" for part in status(run).parts)
    except (PargeError, OSError):
        return 0


def _place_new(embedding: Embedding, labels: Labels, listener: Listener) -> None:
    """Place vertices that were not there, each with edges into one community, and look where they land."""
    listener(Step("place", f"{_NEW} new vertices"))
    rng, started = keyed_rng(0, "demo place"), time.monotonic()
    first = np.asarray(labels.indicator.argmax(axis=1)).ravel()
    chosen = rng.integers(labels.classes.size, size=_NEW)
    last = int(embedding.ids.max())
    edges = [
        (last + 1 + i, int(vertex))
        for i, community in enumerate(chosen)
        for vertex in rng.choice(labels.ids[first == community], _NEW_EDGES)
    ]
    placed = embedding.place(edges)
    took = time.monotonic() - started
    nearest = np.asarray(embedding.neighbors(placed.vectors, k=1)[0]).ravel()
    home = first[positions(labels.ids, nearest)] == chosen[np.asarray(placed.ids, np.int64) - last - 1]
    _say(f"5. {_NEW} new vertices, {_NEW_EDGES} edges each, are placed in {took:.1f} s. No other vector moves:")
    _say(f"     {home.mean():.0%} of them land next to a vertex of the community that they have edges to")


def _some(labels: Labels) -> Labels:
    """Return the labels of some vertices, always the same."""
    if len(labels) <= _SCORED:
        return labels
    rows = keyed_rng(0, "demo labels").choice(len(labels), _SCORED, replace=False)
    rows.sort()
    return Labels(labels.ids[rows], labels.classes, labels.indicator[rows])


def finish(
    run: str | Path,
    out: Path,
    title: str,
    labels: Labels | None,
    embedding: Embedding,
    whole: Embedding | None,
    listener: Listener,
    scored: Labels | None = None,
) -> None:
    """Score, write the page and the vectors of the same run, and print the comparison and the next command.

    All labels colour the map; those of `scored`, if given, are predicted.
    """
    listener(Step("evaluate", "scoring the vectors"))
    quality = judge(embedding, labels if scored is None else scored, whole)
    page = write_report(
        run,
        out / PAGE,
        labels,
        title=title,
        embedding=embedding,
        quality=quality,
        on_step=lambda text: listener(Step("report", text)),
    )
    embedding.save(out / VECTORS)
    show.print_above(_table(embedding, quality, whole))
    _say(_meaning(quality))
    _say(f"Vectors: {out / VECTORS}   Report of the same run: {page}")
    _say("Your own graph: parge embed EDGES.csv -o vectors.parquet --parts 8", command=True)


def _meaning(quality: Quality) -> str:
    if quality.kept is not None:
        return f"The parts reach {quality.kept:.1%} of the whole graph's micro-F1."
    if quality.whole is not None:
        return f"Of 10 nearest neighbours, {quality.whole.neighbours:.0%} are the same in parts and whole."
    return "The whole graph was not embedded: it is large. There is nothing to compare the parts with."


def _table(embedding: Embedding, quality: Quality, whole: Embedding | None) -> Table:
    """Return memory, time and score of the parts and of the whole graph."""
    table = Table(header_style="bold")
    table.add_column("")
    for heading in ("largest worker", "slowest worker", "whole run", "micro-F1"):
        table.add_column(heading, justify="right")
    rows = [(f"{len(embedding.report.parts)} parts", embedding, quality.score)]
    if whole is not None and quality.whole is not None:
        rows.append(("whole graph", whole, quality.whole.score))
    for name, found, score in rows:
        report = found.report
        table.add_row(
            name,
            format_bytes(max(report.worker_peaks)),
            f"{max(report.worker_seconds):.1f} s",
            f"{report.seconds.total:.1f} s",
            "-" if score is None else str(score.micro_f1),
        )
    return table
