"""The paper's experiments: vertices (Tables 1 and 2), links (Table 3), parallelism (Figures 3-5)."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmarks import harness
from benchmarks.paper import methods
from benchmarks.paper.cells import Cell, Cells, key
from benchmarks.paper.datasets import Data
from benchmarks.paper.methods import IN_PARTS, METHODS, REFINED, Settings, reference
from benchmarks.paper.published import TECHNIQUES

import parge
from parge.embedding import Embedding
from parge.events import ignore
from parge.reconcile.rotations import Orthogonal
from parge.run.open_run import open_run
from parge.run.pipeline import write_subgraphs
from parge.seeds import keyed_rng

OnStep = Callable[[str], None]
Alone = Callable[[], AbstractContextManager[Any]]
"""Makes what is measured inside of it wait until no other measurement runs."""


@dataclass(frozen=True, eq=False)
class Lab:
    """What all cells of one technique and one seed share: the graph, and embeddings that several of them need."""

    graph: parge.Graph
    technique: str
    settings: Settings
    seed: int
    made: dict[tuple[str, str, int], Embedding] = field(default_factory=dict)

    def embed(self, method: str, seed: int | None = None) -> Embedding:
        """Return the embedding of a row; centralised ones are kept, for others are compared with them."""
        seed = self.seed if seed is None else seed
        place = (self.technique, method, seed)
        if place in self.made:
            return self.made[place]
        embedding = self._embed(method, seed)
        if method not in IN_PARTS:
            self.made[place] = embedding
        return embedding

    def _embed(self, method: str, seed: int) -> Embedding:
        if method == "random vectors":
            rows = keyed_rng(seed, "random vectors").standard_normal((self.graph.n_vertices, self.settings.dim))
            return Embedding(rows.astype(np.float32), self.graph.outside_ids)
        plan = methods.plan(method, self.technique, self.settings, n_parts=self.settings.parts, seed=seed)
        return parge.embed(self.graph, plan)

    def measured(self, method: str, embedding: Embedding) -> Cell:
        """Return what the run itself says of a row, and whether it is degenerate."""
        report = embedding.report
        if not report:
            return {"degenerate": False}
        vectors = embedding.vectors
        return {
            "anchors": report.anchors,
            "lost_edges": report.lost_edges,
            "seconds": report.seconds.to_json(),
            "slowest_worker": max(report.worker_seconds),
            "largest_worker": max(report.worker_peaks),
            "warnings": list(report.warnings),
            "degenerate": bool(np.ptp(vectors, axis=0).max(initial=0) == 0 or (vectors == 0).all(axis=1).mean() > 0.5),
        }


def vertices(data: Data, settings: Settings, seeds: int, out: Path, on_step: OnStep) -> None:
    """Fill Tables 1 and 2: F1 and PIP of every technique and method."""
    assert data.labels is not None
    store = _store("vertices", data, settings, out)
    made: dict[tuple[str, str, int], Embedding] = {}
    for seed in range(seeds):
        made = {place: embedding for place, embedding in made.items() if place[2] >= seed}
        for name in TECHNIQUES:
            lab = Lab(data.graph, name, settings, seed, made)
            for method in METHODS:
                n_parts = settings.parts if method in IN_PARTS else 1
                store.cell(
                    key(name, method, n_parts, seed), lambda lab=lab, m=method: _vertex_cell(lab, data, m), on_step
                )


def _vertex_cell(lab: Lab, data: Data, method: str) -> Cell:
    embedding = lab.embed(method)
    f1 = parge.evaluate.classify(
        embedding,
        data.labels,
        repeats=lab.settings.repeats,
        seed=lab.seed,
        standardise=methods.standardise(lab.technique),
    )
    whole = reference(method)
    # A centralised run has no distance from itself: what it has is that of another seed, the floor of all others.
    other = lab.embed(whole, lab.seed + 1) if method == whole else lab.embed(whole)
    distance = parge.evaluate.pip(embedding, other)
    return {
        "micro_f1": f1.micro_f1.mean,
        "macro_f1": f1.macro_f1.mean,
        "pip_per_vertex": distance.per_vertex,
        "pip_relative": distance.to_json()["relative"],
        **lab.measured(method, embedding),
    }


def unstandardised(data: Data, settings: Settings, seeds: int, out: Path, on_step: OnStep) -> None:
    """Fill the last rows of Table 1: F1 of SGC's features as they are, where Table 1 standardises them."""
    store = _store("unstandardised", data, settings, out)
    for seed in range(seeds):
        lab = Lab(data.graph, "sgc", settings, seed)
        for method in METHODS:

            def compute(lab: Lab = lab, method: str = method) -> Cell:
                f1 = parge.evaluate.classify(lab.embed(method), data.labels, repeats=settings.repeats, seed=lab.seed)
                return {"micro_f1": f1.micro_f1.mean, "macro_f1": f1.macro_f1.mean}

            store.cell(key("sgc", method, settings.parts if method in IN_PARTS else 1, seed), compute, on_step)


def links(data: Data, settings: Settings, seeds: int, out: Path, on_step: OnStep) -> None:
    """Fill Table 3: half of the edges are held out for each seed, before anything is computed."""
    store = _store("links", data, settings, out)
    for seed in range(seeds):
        split = _Split(data.graph, seed)
        for name in TECHNIQUES:
            for method in METHODS:
                n_parts = settings.parts if method in IN_PARTS else 1

                def compute(name: str = name, method: str = method, split: "_Split" = split) -> Cell:
                    lab = Lab(split.held.train, name, settings, split.seed)
                    embedding = lab.embed(method)
                    scores = parge.evaluate.score_links(embedding, *split.held, seed=split.seed)
                    return {**scores.to_json(), **lab.measured(method, embedding)}

                store.cell(key(name, method, n_parts, seed), compute, on_step)


@dataclass(frozen=True, eq=False)
class _Split:
    graph: parge.Graph
    seed: int

    @cached_property
    def held(self) -> Any:
        """The training graph and the test pairs, made when the first cell needs them."""
        return parge.evaluate.hold_out(self.graph, 0.5, self.seed)


SCALED = ("Recon-S", "ours")

# In the place of a technique: cells that hold the memory of a worker.
MEMORY = "memory of deepwalk"
MEMORY_SEEDS = 3


def parallelism(
    data: Data,
    settings: Settings,
    seeds: int,
    out: Path,
    on_step: OnStep,
    *,
    alone: Alone = nullcontext,
) -> None:
    """Fill Figures 3-5: DeepWalk in more and more parts, one worker at a time so that none disturbs another.

    Each seed runs inside of ``alone()``. Memory is measured afterwards, in other processes.
    """
    store = _store("parallelism", data, settings, out)
    whole = [(method, 1) for method in ("centralised", *REFINED)]
    rows = whole + [(method, n) for n in settings.counts for method in SCALED]
    for seed in range(seeds):
        names = [key("deepwalk", *row, seed) for row in rows]
        if all(name in store.cells for name in names):
            continue
        with alone():  # a whole seed: its runs are divided by each other
            for name, (method, n_parts) in zip(names, rows, strict=True):
                store.cell(name, lambda m=method, n=n_parts, s=seed: _scaled(data, settings, m, n, s), on_step)
    measured = range(min(seeds, MEMORY_SEEDS) if settings.engine == "processes" else 0)
    for seed, (method, n_parts) in product(measured, rows):
        store.cell(
            key(MEMORY, method, n_parts, seed),
            lambda m=method, n=n_parts, s=seed: _largest_worker(data, settings, m, n, s),
            on_step,
        )


def _scaled(data: Data, settings: Settings, method: str, n_parts: int, seed: int) -> Cell:
    plan = methods.plan(method, "deepwalk", settings, n_parts=n_parts, seed=seed, engine=settings.engine, jobs=1)
    embedding = parge.embed(data.graph, plan)
    cell = Lab(data.graph, "deepwalk", settings, seed).measured(method, embedding)
    stages, largest = cell["seconds"], max(part.vertices for part in embedding.report.parts)
    after = sum(seconds for stage, seconds in stages.items() if stage not in ("decompose", "embed", "total"))
    pair = _pair_seconds(cell["anchors"], largest, settings.dim) if method == "Recon-S" else after
    if n_parts == 1:
        pair = after = stages.get("refine", 0.0)
    cell |= {
        # The paper: the largest time of a worker plus the largest to reconcile two spaces (ours makes one of all
        # at once, and refines: all of it counts).
        "paper_seconds": cell["slowest_worker"] + pair,
        # Honest: decomposing, the slowest of n machines, and everything that is done once.
        "end_to_end_seconds": stages["decompose"] + cell["slowest_worker"] + after,
    }
    if data.labels is not None:
        f1 = parge.evaluate.classify(embedding, data.labels, repeats=settings.figure_repeats, seed=seed)
        cell |= {"micro_f1": f1.micro_f1.mean, "macro_f1": f1.macro_f1.mean}
    return cell


def _pair_seconds(n_anchors: int, n_vertices: int, dim: int) -> float:
    """Return the time to rotate one space onto another: numbers of the same shapes, which is all that matters."""
    rng = np.random.default_rng(0)
    pivot, other = (rng.standard_normal((n_anchors, dim)).astype(np.float32) for _ in range(2))
    rows = rng.standard_normal((n_vertices, dim)).astype(np.float32)
    started = time.perf_counter()
    Orthogonal(pivot=0).maps([pivot, other])[1](rows)
    return time.perf_counter() - started


def _largest_worker(data: Data, settings: Settings, method: str, n_parts: int, seed: int) -> Cell:
    """Return the memory of the worker of the largest part, above what its process holds before it reads its part."""
    plan = methods.plan(method, "deepwalk", settings, n_parts=n_parts, seed=seed, engine=settings.engine)
    with (
        TemporaryDirectory() as place,
        open_run(data.graph, plan, run_dir=Path(place, "run"), resume=False, listener=ignore) as run,
    ):
        write_subgraphs(run)
        folder = max((run.folder.part(i) for i in range(n_parts)), key=_size)
        measured = harness.measure_call("memory_of_parts:above", folder=str(folder))
    return {"above_empty": measured.value["above"]}


def _size(part: Path) -> int:
    return sum(file.stat().st_size for file in (part / "subgraph").iterdir())


def _store(experiment: str, data: Data, settings: Settings, out: Path) -> Cells:
    metadata = {"experiment": experiment, "dataset": data.metadata, "settings": settings.to_json()}
    return Cells(out / f"{experiment}-{data.name}.json", metadata)
