"""The verbs of Python: embed, plan, decompose and report, from anything that holds a graph."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from parge.embedding import Embedding
from parge.errors import InputError, PargeNotice, PargeWarning
from parge.events import Event, Listener, Step, ignore
from parge.front.request import requested
from parge.io.places import local_folder
from parge.numbers import shown
from parge.planning.names import AnchorStrategy, EngineName, Partitioner, Preset, Purpose, ReconcilerName, RefinerName
from parge.planning.plan import PLAN_FIELDS, Plan, ResolvedPlan
from parge.show.terminal import progress_for
from parge.show.text import printable
from parge.spelling import naming_slips

if TYPE_CHECKING:
    from parge.decompose.decomposition import Decomposition
    from parge.planning.verdict import Planned

P = ParamSpec("P")
R = TypeVar("R")

_FIELDS = ("technique", *PLAN_FIELDS)


def embed(
    graph: Any,
    plan: Plan | ResolvedPlan | None = None,
    *,
    technique: Any = None,
    parts: int | None = None,
    capacities: Sequence[int] | None = None,
    memory: Sequence[int | str] | str | None = None,
    anchors: str | int | None = None,
    anchor_strategy: AnchorStrategy | str | None = None,
    partitioner: Partitioner | str | None = None,
    reconcile: ReconcilerName | str | None = None,
    refine: RefinerName | str | None = None,
    preset: Preset | None = None,
    purpose: Purpose | None = None,
    engine: EngineName | str | None = None,
    address: str | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    coordinator_memory: int | str | None = None,
    run_dir: str | PathLike[str] | None = None,
    resume: bool = False,
    listener: Listener = ignore,
    progress: bool | None = None,
    **settings: Any,
) -> Embedding:
    """Embed a graph in parts, each independently, and return all vectors in one space.

    On the command line: ``parge embed GRAPH -o OUT``, with the same options.

    Parameters
    ----------
    graph : Graph, path, frame, graph of another library, matrix or edges
        Whatever `parge.as_graph` takes.
    plan : Plan, optional
        A plan; keywords of this call change it.
    technique, parts, capacities, memory, anchors, anchor_strategy, partitioner, reconcile, refine, preset, \
purpose, engine, address, jobs, seed, coordinator_memory : optional
        The fields of `parge.Plan`. Without parts, capacities or memory one worker embeds the whole graph.
    run_dir : path, optional
        Folder that keeps the run, so that it can be resumed; by default a temporary one.
    resume : bool
        Resume the run in `run_dir` where it stopped.
    listener : callable
        Called with every event (`parge.events`): the stages, and the progress of each subgraph.
    progress : bool, optional
        Whether progress is shown; by default in a terminal and in a notebook.
    **settings
        Settings of the technique, such as ``dim=64`` and ``walks=20``; and how the graph is read, such as
        ``weight="minutes"``.

    Returns
    -------
    Embedding
        Vectors in vertex order, their ids, and a report. Its notices and warnings are also issued as
        `parge.PargeNotice` and `parge.PargeWarning`.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> embed(ring_of_cliques(6, 5), technique="hope", parts=2, dim=4, engine="serial", progress=False)
    Embedding(30 vertices, dim=4)
    """
    given = locals()
    request = requested(graph, plan, {**{name: given[name] for name in _FIELDS}, **settings}, resume=resume)
    from parge.run import pipeline  # compiled code: not needed to refuse a plan

    with heard(progress, listener) as events:
        read = request.read(events, run_dir)
        found = pipeline.embed(read, request.plan, run_dir=run_dir, resume=resume, listener=events)
    warn(found.report.notices, found.report.warnings)
    return found


def _with_keywords_of(
    call: Callable[P, Any], without: tuple[str, ...] = ()
) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the keywords of another one, for editors, type checkers and `help`."""

    def named(function: Callable[..., R]) -> Callable[P, R]:
        known = signature(call)
        kept = [parameter for name, parameter in known.parameters.items() if name not in without]
        returns = signature(function).return_annotation
        function.__signature__ = known.replace(parameters=kept, return_annotation=returns)  # type: ignore[attr-defined]
        return function

    return named


@_with_keywords_of(embed, without=("run_dir", "resume"))
def plan(
    graph: Any,
    plan: Plan | ResolvedPlan | None = None,
    *,
    listener: Listener = ignore,
    progress: bool | None = None,
    **keywords: Any,
) -> "Planned":
    """Return what each worker would hold, which edges are lost, and whether parts are worth it; embeds nothing.

    On the command line: ``parge plan GRAPH``. The arguments are those of `embed`. The result prints as the table of the
    command line, and has its numbers: ``found.parts[0].projected_bytes``, ``found.lost_edges``, ``found.to_json()``.
    Notices, hints and warnings are part of it.
    """
    request = requested(graph, plan, keywords)
    from parge.planning.decision import decide, decompose
    from parge.planning.summary import hints
    from parge.planning.verdict import planned

    with heard(progress, listener) as events:
        read = request.read(events)
        decision = decide(read, request.plan)
        decomposed = decompose(read, decision, on_step=lambda text: events(Step("decompose", text)))
    found = planned(decomposed)
    return replace(found, notices=(*found.notices, *hints(decomposed.plan.technique, read)))


@_with_keywords_of(embed)
def decompose(
    graph: Any,
    plan: Plan | ResolvedPlan | None = None,
    *,
    run_dir: str | PathLike[str] | None = None,
    resume: bool = False,
    listener: Listener = ignore,
    progress: bool | None = None,
    **keywords: Any,
) -> "Decomposition":
    """Decompose a graph as `embed` would, and return the decomposition: the parts, the anchors, and every subgraph.

    With `run_dir`, one folder per subgraph is written, which ``parge embed-part`` embeds on any machine and ``parge
    reconcile`` completes. On the command line: ``parge decompose GRAPH --run-dir DIR``. The arguments are those of
    `embed`.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> found = decompose(ring_of_cliques(6, 5), technique="hope", parts=2, anchors=6, dim=4)
    >>> found.n_parts, found.anchors.size, sum(found.subgraph(i).n_vertices for i in range(2))
    (2, 6, 36)
    """
    request = requested(graph, plan, keywords, resume=resume)
    with heard(progress, listener) as events:
        read = request.read(events, run_dir)
        if run_dir is None:
            from parge.planning.decision import decide
            from parge.planning.decision import decompose as split

            found = split(read, decide(read, request.plan), on_step=lambda step: events(Step("decompose", step)))
            return found.decomposition
        from parge.run.open_run import open_run
        from parge.run.pipeline import write_subgraphs

        with open_run(read, request.plan, run_dir=local_folder(run_dir), resume=resume, listener=events) as run:
            write_subgraphs(run)
            return run.decomposition


@naming_slips
def report(
    result: Embedding | str | PathLike[str],
    path: str | PathLike[str],
    *,
    run: str | PathLike[str] | None = None,
    labels: Any = None,
    scores: Mapping[str, Any] | None = None,
    title: str = "",
    projection: Literal["tsne", "umap", "pca"] = "tsne",
    whole: Embedding | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML page about an embedding or a run; return its path.

    On the command line: ``parge report RUN -o FILE.html``.

    Parameters
    ----------
    result : Embedding, or the folder of a run
        What the page is about. With an embedding alone, the page has the map of its vectors and the numbers of its
        report. Parts, lost edges between them, and the map before alignment are in the run folder: give it, too.
    path : path
        The output file, ``.html``.
    run : path, optional
        The folder that `embed` was given as `run_dir`.
    labels, scores, title, projection, whole
        As for `parge.report.page.write_report`.
    overwrite : bool
        Whether a file may be replaced that is no earlier page of parge.
    """
    from parge.io.outputs import Output, check_outputs
    from parge.report.page import check_page, is_page, write_page, write_report

    if not isinstance(result, Embedding | str | PathLike):
        raise InputError(f"a page is about an Embedding or the folder of a run; got {type(result).__name__}")
    check_outputs([Output(check_page(path), is_page)], overwrite=overwrite)
    if not isinstance(result, Embedding):
        if run is not None:
            raise InputError("the page is about one run: give its folder once, or an Embedding and run=FOLDER.")
        return write_report(result, path, labels, scores, title=title, projection=projection, whole=whole)
    if run is None:
        return write_page(result, path, labels, scores, title=title, projection=projection, whole=whole)
    return write_report(run, path, labels, scores, title=title, embedding=result, projection=projection, whole=whole)


@contextmanager
def heard(progress: bool | None, listener: Listener) -> Iterator[Listener]:
    """Yield one listener for what is shown and for the caller's own."""
    if not callable(listener):
        raise InputError(f"a listener is a function that is called with every event; got {shown(listener)}")
    with progress_for(progress) as screen:
        if listener is ignore:
            yield screen
            return

        def both(event: Event) -> None:
            screen(event)
            listener(event)

        yield both


def warn(notices: Iterable[str], texts: Iterable[str]) -> None:
    """Issue notices and warnings as Python warnings, at the line that called its caller."""
    for words, category in ((notices, PargeNotice), (texts, PargeWarning)):
        for text in words:
            warnings.warn(printable(text), category, stacklevel=3)
