"""What the comparisons with other packages share: graphs and tasks, methods, scores, cells, a core to measure on."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import biggraph, competitors, harness, peers
from benchmarks.paper.__main__ import locked, progress
from benchmarks.paper.cells import Cell, Cells
from benchmarks.paper.tables import between

import parge
from parge.evaluate.labels import Labels, read_labels
from parge.graph.generate import planted
from parge.graph.pairs import edges_once
from parge.techniques.resolve import resolve

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measured" / "peers.md"

# Of every method; shuffles of a classification, and of labelled vertices the most that are classified.
DIM, REPEATS, MOST_LABELLED = 128, 5, 20_000

# A peer that takes longer on one core is stopped, and said to be.
LONGEST = 2_400.0

Vectors = Any
Run = Callable[..., tuple[Vectors, Cell]]
"""``run(graph, seed, **settled)`` gives vectors in vertex order (None if it failed) and a cell with what they cost."""


@dataclass(frozen=True, eq=False)
class Case:
    """A graph and what is asked of its vectors.

    Parameters
    ----------
    name : str
    task : str
        labels: micro-F1, half of the labelled vertices for training, by the known-count rule. links: ROC-AUC of
        held-out edges, half of all, taken out for each seed before anything is computed.
    large : bool
        Takes minutes a method, so it gets fewer seeds.
    """

    name: str
    task: str
    graph: parge.Graph = field(repr=False)
    labels: Labels | None = field(default=None, repr=False)
    large: bool = False

    @property
    def title(self) -> str:
        """Name and task, for files and headings."""
        return f"{self.name}-{self.task}"

    @property
    def metadata(self) -> dict[str, Any]:
        """Name and counts, for a record of the run."""
        size = {"vertices": self.graph.n_vertices, "edges": self.graph.n_edges}
        return {"name": self.name, "task": self.task, **size, "large": self.large}

    def training(self, seed: int) -> parge.Graph:
        """Return the graph that is embedded."""
        return self.graph if self.task == "labels" else _held_out(self, seed).train

    def score(self, vectors: Vectors, seed: int) -> Cell:
        """Return what the vectors are worth."""
        if self.task == "labels":
            embedding = parge.Embedding(vectors, self.graph.outside_ids)
            f1 = parge.evaluate.classify(embedding, self.labels, repeats=REPEATS, seed=seed)
            return {"micro_f1": f1.micro_f1.mean, "macro_f1": f1.macro_f1.mean}
        return parge.evaluate.score_links(vectors, *_held_out(self, seed), seed=seed).to_json()


@lru_cache(maxsize=1)
def _held_out(case: Case, seed: int) -> Any:
    return parge.evaluate.hold_out(case.graph, 0.5, seed)


def shared_case(name: str, task: str, folder: Path, *, large: bool = False) -> Case | None:
    """Return a case on a shared graph, or nothing where there is no copy of it."""
    edges = folder / f"{name}.edges.gz"
    if not edges.exists():
        print(f"{name}: skipped, there is no {edges}", file=sys.stderr)
        return None
    n_vertices = json.loads((folder / "datasets.json").read_text())[name]["vertices"]
    labels = read_labels(folder / f"{name}.labels.gz", label_column="all") if task == "labels" else None
    return Case(name, task, parge.read(edges, vertices=n_vertices), labels, large)


def planted_case(n_vertices: int, n_edges: int, task: str, *, large: bool = False) -> Case:
    """Return a case on a graph of 47 planted communities; of its labels a random 20,000 vertices keep theirs."""
    made = planted(n_vertices, n_edges, communities=47, mixing=0.5, labels_per_vertex=1.5, seed=1)
    kept = np.zeros(n_vertices, np.bool_)
    kept[np.random.default_rng(1).permutation(n_vertices)[:MOST_LABELLED]] = True
    vertices = np.repeat(np.arange(n_vertices), np.diff(made.labels.indptr))
    labels = Labels.from_pairs(vertices[kept[vertices]], made.labels.labels.astype(np.int64)[kept[vertices]])
    return Case(f"planted-{n_vertices}-{n_edges}", task, made.graph, labels if task == "labels" else None, large)


class SkippedError(Exception):
    """A method that cannot be run here, with the reason."""


@dataclass(frozen=True)
class Method:
    """A row: somebody's way to embed a graph.

    Parameters
    ----------
    name : str
    run : callable
    settle : callable, optional
        Settings that are found once a graph, without labels and without being timed.
    settles : str
        Under which name that is kept, where several methods share it.
    ours, in_parts : bool
        Whether parge runs it, and in parts.
    by : str
        The score of links that it was made for: cosine, or dot where it was trained to that.
    most_seeds : int
        Slow settings get fewer.
    most_edges : float
        Not run on graphs of more.
    """

    name: str
    run: Run
    settle: Callable[[parge.Graph], Cell] | None = None
    settles: str = ""
    ours: bool = False
    in_parts: bool = False
    by: str = "cosine"
    most_seeds: int = 99
    most_edges: float = np.inf


def edges(graph: parge.Graph) -> dict[str, Any]:
    """Return every edge once, as arrays for another process."""
    source, target, _ = edges_once(graph)
    return {"source": source.astype(np.int64), "target": target.astype(np.int64)}


def peer(package: str, *, longest: float = LONGEST, **settings: Any) -> Run:
    """Return how pycleora or scikit-network embeds a graph, in a process of its own that is stopped after so long."""

    def run(graph: parge.Graph, seed: int) -> tuple[Vectors, Cell]:
        module = {"pycleora": "pycleora", "scikit-network": "sknetwork"}[package]
        _need(sys.executable, module)
        asked = {"package": package, "vertices": graph.n_vertices, "dim": DIM, "seed": seed, **settings}
        return _embed_with(sys.executable, peers.__file__, asked, graph, longest)

    return run


# Held-out edges prefer these to PBG's defaults for comparator, loss and rate (MRR .0097 against .0042 on a planted
# graph of 8,000 vertices and 60,000 edges, at the best number of epochs of each).
TUNED = {"comparator": "dot", "loss": "softmax", "learning_rate": 0.03}
PBG_DEFAULTS = {"comparator": "cos", "loss": "ranking", "learning_rate": 0.01}

# No more epochs than that are tried.
MOST_EPOCHS = 60


def pbg(python: str, **settings: Any) -> Run:
    """Return how PyTorch-BigGraph embeds a graph, in its own environment."""

    def run(graph: parge.Graph, seed: int, *, epochs: int, **_: Any) -> tuple[Vectors, Cell]:
        vectors, cell = train_pbg(python, graph, seed, epochs=epochs, **settings)
        return vectors, {**cell, "epochs": epochs}

    return run


def train_pbg(
    python: str, graph: parge.Graph, seed: int, *, parts: int = 1, held_out: float = 0.0, **settings: Any
) -> tuple[Vectors, Cell]:
    """Return PyTorch-BigGraph's vectors and what they cost."""
    _need(python, "torchbiggraph")
    asked = {"vertices": graph.n_vertices, "dim": DIM, "seed": seed, "parts": parts, "held_out": held_out, **settings}
    return _embed_with(python, biggraph.__file__, asked, graph)


def epochs_by_mrr(python: str, **settings: Any) -> Callable[[parge.Graph], Cell]:
    """Return how to find the epochs after which the MRR of 5 % held-out edges is within 1 % of its best."""

    def settle(graph: parge.Graph) -> Cell:
        _, cell = train_pbg(python, graph, 0, epochs=MOST_EPOCHS, held_out=0.05, **settings)
        return {"epochs": biggraph.best_epochs(cell["mrr"]), "mrr": cell["mrr"]}

    return settle


@lru_cache(maxsize=8)
def _missing(python: str, module: str) -> str:
    return competitors.missing(python, module)


def _need(python: str, module: str) -> None:
    reason = _missing(python, module)
    if reason:
        raise SkippedError(f"{module}: {reason}")


def _embed_with(
    python: str, script: str, asked: dict[str, Any], graph: parge.Graph, longest: float = LONGEST
) -> tuple[Vectors, Cell]:
    try:
        return competitors.embed_with(python, asked, script=script, timeout=longest, **edges(graph))
    except subprocess.TimeoutExpired:
        return None, {"failed": f"stopped after {longest:.0f} s"}
    except subprocess.CalledProcessError as error:
        return None, {"failed": f"exit code {error.returncode}"}


def ours(technique: str, parts: int, **settings: Any) -> Run:
    """Return how parge embeds a graph with the defaults of ``--preset best``, one worker at a time."""

    def run(graph: parge.Graph, seed: int) -> tuple[Vectors, Cell]:
        what = resolve(technique, {"dim": DIM})
        plan = parge.Plan(technique=what, parts=parts, seed=seed, engine="processes", jobs=1, **settings)
        before = biggraph.cpu()
        embedding = parge.embed(graph, plan)
        spent = biggraph.cpu() - before
        report = embedding.report
        stages, slowest = report.seconds, max(report.worker_seconds)
        # A machine for every part: what is done once, and the slowest of them. The run tells times by the clock, which
        # other programs lengthen; so their share is taken, of the time on a core.
        critical = (stages.total - stages.embed + slowest) / stages.total
        return embedding.vectors, {
            "seconds": stages.total,
            "cpu_seconds": spent,
            **({} if parts == 1 else {"critical_seconds": spent * critical}),
            "peak_bytes": max(report.worker_peaks),
            "stages": stages.to_json(),
            "lost_edges": report.lost_edges,
            "reconcile": report.plan.reconcile,
            "refine": report.plan.refine,
        }

    return run


@dataclass(frozen=True)
class Bench:
    """Where and how cells are computed: the folder, the lock and the core on which they are measured."""

    out: Path
    lock: Path | None = None
    core: int | None = None
    on_step: Callable[[str], None] = field(default_factory=progress)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Measure when nobody else does, on one core."""
        with locked(self.lock):
            before = os.sched_getaffinity(0)
            try:
                os.sched_setaffinity(0, before if self.core is None else {self.core})
                yield
            finally:
                os.sched_setaffinity(0, before)

    def fill(self, case: Case, methods: Sequence[Method], seed: int) -> None:
        """Compute the cells of a case and a seed that are not there yet."""
        settings = {"dim": DIM, "repeats": REPEATS}
        cells = Cells(self.out / f"{case.title}.json", {"dataset": case.metadata, "settings": settings})
        for method in methods:
            if seed < method.most_seeds and case.graph.n_edges <= method.most_edges:
                self._cell(cells, case, method, seed)

    def fill_all(self, cases: Sequence[Case], methods: Sequence[Method], seeds: int, fewer: int) -> None:
        """Compute all cells, a seed of every case before the next one; large cases have fewer."""
        for seed in range(max(seeds, fewer)):
            for case in cases:
                if seed < (fewer if case.large else seeds):
                    self.fill(case, methods, seed)

    def _cell(self, cells: Cells, case: Case, method: Method, seed: int) -> None:
        def compute() -> Cell:
            graph = case.training(seed)
            with self.alone():
                vectors, cell = method.run(graph, seed, **settled)
            return cell if vectors is None else {**cell, **case.score(vectors, seed)}

        try:
            settled = self._settled(cells, case, method)
            cells.cell(key(method.name, seed), compute, self.on_step)
        except SkippedError as reason:
            self.on_step(f"{case.title}: {method.name} skipped, {reason}")

    def _settled(self, cells: Cells, case: Case, method: Method) -> Cell:
        settle = method.settle
        if settle is None:
            return {}
        return cells.cell(f"{method.settles or method.name} | settled", lambda: settle(case.training(0)), self.on_step)


def key(method: str, seed: int) -> str:
    """Return the name of a cell.

    >>> key("parge, hope", 1)
    'parge, hope | seed 1'
    """
    return f"{method} | seed {seed}"


def read(path: Path) -> tuple[dict[str, Any], dict[str, list[Cell]]]:
    """Return the data set of a file of cells, and the cells of every method, a seed each."""
    content = json.loads(path.read_text())
    found: dict[str, list[Cell]] = {}
    for name, cell in content["cells"].items():
        method, _, seed = name.rpartition(" | ")
        if seed != "settled":
            found.setdefault(method, []).append(cell)
    return content["dataset"], found


def quality(cell: Cell, by: str = "cosine") -> float | None:
    """Return the score of a cell: micro-F1, or ROC-AUC by that score of pairs."""
    if "failed" in cell:
        return None
    return float(cell["micro_f1"] if "micro_f1" in cell else cell[by]["roc_auc"])


def arguments(description: str | None, folder: str, **numbers: int) -> argparse.Namespace:
    """Read the options that both comparisons have, and further numbers with their defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fewer-seeds", type=int, default=1, help="of large graphs [default: 1]")
    parser.add_argument("--quick", action="store_true", help="one seed on small generated graphs, in a new folder")
    parser.add_argument("--only", action="append", default=[], help="a case; repeatable")
    parser.add_argument("--methods", action="append", default=[], help="how a method's name begins; repeatable")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data sets")
    parser.add_argument("--out", type=Path, help=f"where cells are kept [default: results/{folder}]")
    parser.add_argument("--lock", type=Path, help="file to lock while times are measured, shared with other benchmarks")
    parser.add_argument("--core", type=int, help="the core to measure on [default: where the process may run]")
    parser.add_argument("--pbg", default=str(ROOT / ".venv-pbg" / "bin" / "python"), help="Python that has PBG")
    parser.add_argument("--tables-only", action="store_true", help="compute nothing, write the tables again")
    for name, default in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default, help=f"[default: {default:,}]")
    given = parser.parse_args()
    new = Path(tempfile.mkdtemp(prefix=f"parge-{folder}-")) if given.quick else harness.RESULTS / folder
    given.out = given.out or new
    if given.quick:
        given.seeds = given.fewer_seeds = 1
    return given


def chosen(methods: Sequence[Method], prefixes: Sequence[str]) -> list[Method]:
    """Return the methods whose names begin like that; all where nothing is asked for."""
    return [method for method in methods if not prefixes or method.name.startswith(tuple(prefixes))]


def warm_up(techniques: Sequence[str]) -> None:
    """Compile what parge needs, so that no measured run waits for it."""
    graph = planted(600, 3_000, seed=1).graph
    for technique in techniques:
        ours(technique, 2)(graph, 0)
        ours(technique, 1)(graph, 0)


def publish(tables: dict[str, str], *, quick: bool) -> None:
    """Print the tables, and put them between the markers of the page unless they are a trial's."""
    for name, table in tables.items():
        print(f"\n## {name}\n\n{table}")
    if not quick:
        text = PAGE.read_text()
        for name, table in tables.items():
            text = between(text, name, table)
        PAGE.write_text(text)
