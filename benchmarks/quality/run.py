"""Cells: one embedding each, scored as it is and after the technique's pass."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.paper.cells import Cell, Cells
from benchmarks.quality.graphs import Data
from benchmarks.quality.methods import Settings, plan

import parge
from parge.graph.generate import planted
from parge.refine.base import Workspace, refiners
from parge.result import Report
from parge.stage_reports import Refined
from parge.techniques.resolve import resolve


class Lab:
    """One graph, one seed: the edges held out, where links are predicted, are those of the seed."""

    def __init__(self, data: Data, settings: Settings, seed: int) -> None:
        self.data, self.settings, self.seed = data, settings, seed

    @cached_property
    def split(self) -> Any:
        """The graph to embed and the pairs to test; the whole graph where there are labels."""
        if self.data.labels is not None:
            return (self.data.graph,)
        return parge.evaluate.hold_out(self.data.graph, self.settings.holdout, self.seed)

    def score(self, vectors: Any) -> dict[str, float]:
        """Return known-count micro- and macro-F1 at 50 %, or ROC-AUC and average precision by cosine."""
        embedding = parge.Embedding(vectors, self.data.graph.outside_ids)
        if self.data.labels is None:
            pairs = np.concatenate([self.split[1], self.split[2]])
            return _roc(vectors, pairs, len(self.split[1]))
        found = parge.evaluate.classify(embedding, self.data.labels, repeats=self.settings.repeats, seed=self.seed)
        return {"score": found.micro_f1.mean, "macro_f1": found.macro_f1.mean}

    def cell(self, technique: str, method: str, n_parts: int, **how: Any) -> Cell:
        """Embed and score."""
        graph = self.split[0]
        warm_up(technique, method)
        with cpu_clock():
            embedding = parge.embed(
                graph, plan(method, technique, graph.n_vertices, n_parts, self.seed, self.settings, **how)
            )
        raw = self.score(embedding.vectors)
        vectors, name = np.array(embedding.vectors), resolve(technique).refine
        started = time.process_time()
        refinement = refiners.get(name)().refine(graph, vectors, resolve(technique), Workspace(threads=1))
        seconds = time.process_time() - started
        return {
            "clock": "cpu",
            "raw": raw,
            "refined": self.score(vectors),
            "refine": Refined.of(refinement, name).to_json(),
            **measured(embedding.report),
            "refine_seconds": seconds,
        }


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Let runs in this process measure seconds of the core: what a busy machine does not lengthen."""
    with patch("time.perf_counter", time.process_time):
        yield


_WARM: set[tuple[str, str]] = set()


def warm_up(technique: str, method: str) -> None:
    """Load or compile what a cell needs, on a small graph, so that it is not timed with it."""
    if (technique, method) not in _WARM:
        small = planted(600, 4000, communities=4, seed=1).graph
        made = plan(method, technique, 600, 2, 1, Settings(dim=16))
        parge.embed(small, made)
        _WARM.add((technique, method))


def _roc(vectors: Any, pairs: Any, n_positive: int) -> dict[str, float]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    cosine = np.einsum("ij,ij->i", unit[pairs[:, 0]], unit[pairs[:, 1]])
    truth = np.arange(len(pairs)) < n_positive
    return {
        "score": float(roc_auc_score(truth, cosine)),
        "average_precision": float(average_precision_score(truth, cosine)),
    }


def measured(report: Report) -> Cell:
    """Return what the run says of itself: what was lost, how the spaces meet, time and memory."""
    stages = report.seconds
    slowest = max(report.worker_seconds)
    residuals = [residual.held_out for residual in report.reconcile.residuals if residual.held_out is not None]
    return {
        "anchors": report.anchors,
        "lost_edges": report.lost_edges,
        "held_out": float(np.mean(residuals)) if residuals else None,
        "largest_part": max(part.vertices for part in report.parts) / max(1, report.vertices),
        "peak_bytes": max(report.worker_peaks),
        "seconds": stages.to_json(),
        "slowest_worker": slowest,
        "all_workers": sum(report.worker_seconds),
        "critical_path": stages.prepare + slowest + stages.reconcile,
    }


def store(data: Data, settings: Settings, out: Path, kind: str = "quality") -> Cells:
    """Return the cells of one graph, those of an earlier run included."""
    return Cells(out / f"{kind}-{data.name}.json", {"dataset": data.metadata, "settings": settings.to_json()})
