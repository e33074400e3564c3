"""The content of a report, collected from a run folder without loading all its vectors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.labels import Labels
from parge.events import OnStep, ignore_step
from parge.linalg.threads import one_blas_thread
from parge.reconcile.base import Identity, Map, kind_of, resolve
from parge.reconcile.reconciliation import Reconciliation
from parge.report.coloring import LabelColors, color_labels
from parge.report.projection import Projection, nearest_rows, project, same_part_share
from parge.report.quality import Quality
from parge.report.sample import Sample, draw_sample, sample_rows
from parge.result import Report
from parge.run import parts
from parge.run.metadata import recorded_seconds
from parge.run.run import Run, stage_seconds
from parge.run.spaces import space_history
from parge.show.text import printable
from parge.space.frozen import Age
from parge.stage_reports import EdgeCounts, Part, Refined, Residual
from parge.typing import BoolArray, FloatArray, IdArray, IntArray, Matrix
from parge.values import known


@dataclass(frozen=True, eq=False)
class MapView:
    """One picture of the sample: what it shows, and how mixed the parts are in it.

    `same_part` is the share of the 10 nearest sampled vertices that belong to the same part as the vertex.
    """

    key: str
    title: str
    same_part: float | None


@dataclass(frozen=True, eq=False)
class Atlas:
    """The sampled vertices, drawn before and after alignment, and as written if that differs.

    `near` has the nearest sampled vertices of each sampled vertex in the last view, `cosines` how near they are.
    """

    sample: Sample
    names: tuple[str, ...]
    views: tuple[MapView, ...]
    projections: tuple[Projection, ...]
    labels: LabelColors | None
    near: IntArray
    cosines: Matrix

    @property
    def colorings(self) -> tuple[str, ...]:
        """What dots are coloured by: labels, if there are any, and parts, if there are several."""
        several = self.sample.part.max(initial=0) > 0 or self.labels is None
        return tuple(by for by, known in (("label", self.labels is not None), ("part", several)) if known)


@dataclass(frozen=True, eq=False)
class Findings:
    """The content of a report."""

    title: str  # name of the graph, or empty
    report: Report  # the run in numbers, as `parge embed --json` prints them
    technique: dict[str, Any]  # name and settings of the technique
    cut: IntArray  # (n_parts, n_parts): number of edges between non-anchors, by part; empty without a run folder
    # (n_parts, n_parts): number of edges between two parts that neither of them holds; empty without a run folder.
    lost: IntArray
    edges: EdgeCounts  # where the edges of the graph are, each counted once
    atlas: Atlas  # the pictures of the embedding
    scores: Mapping[str, Any] = field(default_factory=dict)  # name to score, as given
    # Versions of the software that computed the vectors, each combination once.
    versions: tuple[dict[str, str], ...] = ()
    # How well labels are predicted, and the whole graph compared with the parts.
    quality: Quality = field(default_factory=Quality)
    ages: tuple[Age, ...] = ()  # how old the space of the run was after each update that looked

    @property
    def parts(self) -> tuple[Part, ...]:
        """One entry per subgraph."""
        return self.report.parts

    @property
    def vertices(self) -> int:
        """How many the graph has."""
        return known(self.report.vertices, "how many vertices there are")

    @property
    def dim(self) -> int:
        """Columns of the vectors."""
        return known(self.report.dim, "the dimensions")

    @property
    def anchors(self) -> int:
        """How many every subgraph holds."""
        return known(self.report.anchors, "how many anchors there are")

    @property
    def rotates(self) -> bool:
        """Whether there are several spaces that anchors must align; with a backbone there is only one."""
        return len(self.parts) > 1 and not kind_of(str(self.report.reconcile.reconciler)).needs_landmarks

    @property
    def stay(self) -> float:
        """Share of the edges between non-anchors whose two ends are in one part."""
        return int(np.trace(self.cut)) / max(1, int(np.triu(self.cut).sum()))

    @property
    def residuals(self) -> tuple[Residual, ...]:
        """How well the spaces agree, one entry per subgraph."""
        return self.report.reconcile.residuals


def collect(
    run: Run,
    *,
    title: str = "",
    labels: Labels | None = None,
    scores: Mapping[str, Any] | None = None,
    embedding: Embedding | None = None,
    report: Report | None = None,
    projection: str = "tsne",
    quality: Quality | None = None,
    space: str | PathLike[str] | None = None,
    on_step: OnStep = ignore_step,
) -> Findings:
    """Collect the content of a report; see `parge.report.page.write_report` for the parameters."""
    decomposition = run.decomposition
    if embedding is not None:
        _check_same_run(run, embedding)
        report = report or (embedding.report if embedding.report.is_measured else None)
    if report is None:
        reconciliation = run.reconcile()
        report, maps = _numbers(run, reconciliation), reconciliation.maps
    else:
        maps = _maps(run, report)
    sample = draw_sample(decomposition, run.local_vectors, maps)
    return Findings(
        title=title,
        report=report,
        technique=_technique(run),
        cut=decomposition.cut,
        lost=decomposition.lost,
        edges=decomposition.edge_counts,
        atlas=_atlas(
            run,
            sample,
            labels,
            embedding,
            lambda views, copies: project(views, copies, how=projection, on_step=on_step),
        ),
        scores=dict(scores or {}),
        versions=_versions(run),
        quality=quality or Quality(),
        ages=() if space is None else _ages(run, space),
    )


def collect_embedding(
    embedding: Embedding,
    *,
    title: str = "",
    labels: Labels | None = None,
    scores: Mapping[str, Any] | None = None,
    projection: str = "tsne",
    quality: Quality | None = None,
) -> Findings:
    """Collect what an embedding alone says: the map of its vectors, and the numbers of its report."""
    report = replace(embedding.report, vertices=len(embedding), dim=embedding.dim)
    sample, unknown = sample_rows(embedding.vectors), np.zeros((0, 0), np.int64)
    return Findings(
        title=title,
        report=report,
        technique={"name": report.technique or "vectors", "settings": {}},
        cut=unknown,
        lost=unknown,
        edges=report.edge_counts or EdgeCounts(0, 0, 0, 0),
        atlas=_drawn(
            embedding.ids,
            sample,
            {"vectors": sample.after},
            labels,
            lambda views, copies: project(views, copies, how=projection),
        ),
        scores=dict(scores or {}),
        quality=quality or Quality(),
    )


def _numbers(run: Run, reconciliation: Reconciliation) -> Report:
    numbers = run.report(reconciliation, Refined(name=run.plan.refine))
    # What the run itself took, not what it takes to compute the maps once more for the page.
    recorded = recorded_seconds(run.folder.path, run.id)
    seconds = {stage: took for stage, took in run.seconds.items() if stage not in ("reconcile", "refine")} | recorded
    return replace(numbers, seconds=stage_seconds(seconds, numbers.worker_seconds))


def _maps(run: Run, report: Report) -> tuple[Map, ...]:
    """Return the maps alone, as they were used: the residuals, which take as long again, are known already."""
    used = report.reconcile
    name = known(used.reconciler, "how its spaces were reconciled")
    reconciler = Identity() if used.fell_back else resolve(name)
    with one_blas_thread():
        return reconciler.maps(run.anchor_vectors)


def _technique(run: Run) -> dict[str, Any]:
    described = run.folder.plan_metadata().settings.to_json()["technique"]
    if isinstance(described, str):
        return {"name": described, "settings": {}}
    return {"name": described["technique"], "settings": dict(described["settings"])}


def _ages(run: Run, space: str | PathLike[str]) -> tuple[Age, ...]:
    """Return how old a space of the run was whenever an update looked; refuse the space of another run."""
    history, edges = space_history(space), run.decomposition.graph.n_edges
    if (history.edges, history.technique) != (edges, run.technique.name):
        raise InputError(
            f"{space} is not a space of this run: it was made of {history.edges:,} edges by "
            f"{printable(history.technique or 'an unnamed technique', 60)}, and the run of {edges:,} by "
            f"{run.technique.name}. Give a space of this run, or one updated from it."
        )
    return history.looks


def _versions(run: Run) -> tuple[dict[str, str], ...]:
    found = [parts.load_metadata(run.folder.part(i)).versions for i in range(run.decomposition.n_parts)]
    return tuple(dict(items) for items in dict.fromkeys(tuple(version.items()) for version in found))


def _check_same_run(run: Run, embedding: Embedding) -> None:
    """Refuse an embedding whose size or report does not match the run."""
    report, decomposition = embedding.report, run.decomposition
    pairs = {
        "vertices": (len(embedding), decomposition.graph.n_vertices),
        "dimensions": (embedding.dim, run.shape[1]),
        "edges": (report.edges, decomposition.graph.n_edges),
        "parts": (len(report.parts) or None, decomposition.n_parts),
        "as seed": (report.plan.seed, run.plan.seed),
        "as technique": (report.technique, run.technique.name),
        "anchors": (report.anchors, decomposition.anchors.size),
    }
    for name, (has, expected) in pairs.items():
        if has is not None and has != expected:
            raise InputError(
                f"the embedding has {_shown(has)} {name}, the run has {_shown(expected)}. "
                "Give the embedding that this run wrote."
            )


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | np.integer) else printable(value, 60)


# The nearest vertices that a click shows.
_NEAREST = 8

Draw = Callable[[list[FloatArray], BoolArray], tuple[Projection, ...]]


def _atlas(run: Run, sample: Sample, labels: Labels | None, embedding: Embedding | None, draw: Draw) -> Atlas:
    ids = run.decomposition.graph.outside_ids
    is_one = run.decomposition.n_parts > 1 and run.in_one_space
    vectors = {"together": sample.after} if is_one else {"before": sample.before, "after": sample.after}
    if embedding is not None:
        written = embedding.rows(ids[sample.vertices])[sample.place]
        if _differs(written[~sample.is_copy], sample.after[~sample.is_copy]):
            vectors["written"] = written
    if run.decomposition.n_parts == 1:
        vectors = {"vectors": vectors.get("written", sample.after)}
    return _drawn(ids, sample, vectors, labels, draw)


_TITLES = {
    "before": "Before",
    "after": "After",
    "together": "As embedded",
    "written": "As written",
    "vectors": "Vectors",
}


def _drawn(ids: IdArray, sample: Sample, vectors: Mapping[str, FloatArray], labels: Labels | None, draw: Draw) -> Atlas:
    own = ~sample.is_copy
    first = np.unique(sample.place, return_index=True)[1]
    near, cosines = nearest_rows(list(vectors.values())[-1][first], _NEAREST)
    views = [MapView(key, _TITLES[key], same_part_share(rows[own], sample.part[own])) for key, rows in vectors.items()]
    return Atlas(
        sample=sample,
        names=tuple(str(name) for name in ids[sample.vertices].tolist()),
        views=tuple(views),
        projections=draw(list(vectors.values()), sample.is_copy),
        labels=None if labels is None else color_labels(labels, ids, sample.vertices),
        near=near,
        cosines=cosines,
    )


def _differs(written: Any, mapped: Any) -> bool:
    """Return whether a final pass changed the vectors after alignment."""
    if written.shape != mapped.shape:
        return True
    return not np.allclose(written, mapped, rtol=1e-3, atol=1e-5 * float(np.abs(mapped).max(initial=0)))
