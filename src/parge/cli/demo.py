"""``parge demo``: every step in about a minute, on a generated graph or on the user's own."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.table import Table

from parge.cli import show
from parge.cli.labels import label_options, take_labels
from parge.cli.options import (
    COUNT,
    DIM,
    SEED,
    PathName,
    all_of,
    graph_inputs,
    overwrite_option,
    read_graph,
    reading_options,
    say_idle,
)
from parge.cli.show import run_progress
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.classification import classify
from parge.evaluate.labels import Labels, read_labels
from parge.evaluate.pip import different_passes, pip
from parge.evaluate.scores import Classification
from parge.events import Listener, Step
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.io.embeddings.files import embedding_outputs
from parge.io.graphs.write import lines_output, write
from parge.io.labels import write_labels
from parge.io.outputs import Output, check_outputs
from parge.memory import format_bytes
from parge.planning.plan import Plan
from parge.report.page import is_page, write_report
from parge.run.pipeline import embed
from parge.techniques.deepwalk import DeepWalk

_VERTICES, _EDGES, _COMMUNITIES = 8_000, 80_000, 20

# Beyond this many vertices the whole graph is not embedded for comparison: it may not fit, and takes long.
_COMPARE_UP_TO = 300_000

_WHOLE = "whole graph at once"


@dataclass(frozen=True)
class _Row:
    """One way to embed the graph, and what came of it."""

    name: str
    embedding: Embedding
    score: Classification | None


@click.command("demo")
@click.option("--graph", type=PathName(), metavar="GRAPH", help="Use this graph instead of a generated one.")
@click.option("--labels", type=PathName(path_type=Path), metavar="FILE", help="Labels of the vertices of that graph.")
@label_options
@click.option("--parts", type=COUNT, default=8, show_default=True, help="Split the graph into N equal parts.")
@click.option("--dim", type=DIM, default=64, show_default=True, help="Dimensions of the vectors.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same result.")
@click.option(
    "-o", "--out", type=PathName(path_type=Path), default=Path("demo"), show_default=True, help="Output folder."
)
@overwrite_option
@all_of(reading_options())
def command(labels: Path | None, parts: int, dim: int, seed: int, out: Path, overwrite: bool, **options: Any) -> None:
    """Embed a generated graph (or yours) in parts and as a whole, and compare quality, time and memory."""
    _check(out, options, labels, overwrite=overwrite)
    if not options["graph"]:
        say_idle(("labels", "vertices", "features", "unweighted", "weight"), "without GRAPH")
    title = Path(options["graph"]).name if options["graph"] else "A generated graph"
    graph, known = _own(options, labels) if options["graph"] else _generated(out, seed)
    rows: list[_Row] = []
    with run_progress() as listener, TemporaryDirectory(prefix="parge-run-") as folder:

        def add(name: str, run_dir: str | None = None, **fields: Any) -> None:
            plan = Plan(technique=DeepWalk(dim=dim), seed=seed, **fields)
            rows.append(_embed(name, graph, known, plan, listener, run_dir))

        add(f"{parts} parts, refined", parts=parts, refine=DeepWalk.refine)
        add(f"{parts} parts, rotated", folder, parts=parts, reconcile="consensus", refine="none")
        add(f"{parts} parts, not aligned", parts=parts, reconcile="none", refine="none")
        if graph.n_vertices <= _COMPARE_UP_TO:
            add(_WHOLE, parts=1, refine="none")
            add(f"{_WHOLE}, refined", parts=1, refine=DeepWalk.refine)
        listener(Step("report"))
        # Of the run that rotates: only there do the spaces differ before, and its picture shows what that means.
        page = write_report(folder, out / "report.html", known, _scores(rows), title=title, embedding=rows[1].embedding)
    path = out / "embedding.parquet"
    rows[0].embedding.save(path)
    show.out.print(_table(rows))
    report = rows[0].embedding.report
    show.out.print(
        f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges; {report.anchors:,} anchors; "
        f"{report.lost_edges:.1%} of the edges are lost (no part holds them)\nvectors (first row): {path}\n"
        f"report (second row): {page}"
    )


def _check(out: Path, options: dict[str, Any], labels: Path | None, *, overwrite: bool) -> None:
    """Make the folder, and refuse to write over what a demo did not write, or over what this one reads."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot create the folder {out}: {error.strerror}. Choose another one with -o.") from None
    outputs = [Output(out / "report.html", is_page), *embedding_outputs(out / "embedding.parquet")]
    if options["graph"] is None:
        outputs += [lines_output(out / name) for name in ("graph.txt", "graph.vertices.txt", "labels.txt")]
    read = [] if options["graph"] is None else graph_inputs(options)
    check_outputs(outputs, [*read, *([] if labels is None else [labels])], overwrite=overwrite)


def _generated(out: Path, seed: int) -> tuple[Graph, Labels]:
    made = planted(_VERTICES, _EDGES, communities=_COMMUNITIES, mixing=0.4, seed=seed)
    write(made.graph, out / "graph.txt", marked=True)
    write_labels(out / "labels.txt", made.graph.outside_ids, made.labels, marked=True)
    return made.graph, read_labels(out / "labels.txt")


def _own(options: dict[str, Any], labels: Path | None) -> tuple[Graph, Labels | None]:
    graph = read_graph(options)
    return graph, None if labels is None else take_labels(labels, options, graph.outside_ids)


def _embed(name: str, graph: Graph, labels: Labels | None, plan: Plan, listener: Listener, run_dir: str | None) -> _Row:
    embedding = embed(graph, plan, run_dir=run_dir, listener=listener)
    return _Row(name, embedding, None if labels is None else classify(embedding, labels))


def _distance(row: _Row, rows: list[_Row]) -> float | None:
    """Return the PIP distance to the embedding of the whole graph that was refined alike; of itself there is none."""
    for whole in rows:
        if whole.name.startswith(_WHOLE) and not different_passes(row.embedding, whole.embedding):
            return None if row is whole else pip(row.embedding, whole.embedding).relative
    return None


def _scores(rows: list[_Row]) -> dict[str, dict[str, Any]]:
    """Return what the report's table of scores shows; nothing where there is nothing to compare with."""
    if rows[0].score is None and not any(row.name.startswith(_WHOLE) for row in rows):
        return {}
    labelled = [
        {} if row.score is None else {"micro_f1": row.score.micro_f1, "macro_f1": row.score.macro_f1} for row in rows
    ]
    return {
        row.name: {**score, "PIP to whole": _distance(row, rows)} for row, score in zip(rows, labelled, strict=True)
    }


def _table(rows: list[_Row]) -> Table:
    """Return the table of quality, time and memory: parts against the whole graph."""
    table = Table(header_style="bold")
    table.add_column("")
    for heading in ("micro-F1", "macro-F1", "PIP to whole", "slowest worker", "total time", "most memory per worker"):
        table.add_column(heading, justify="right")
    for row in rows:
        report = row.embedding.report
        distance = _distance(row, rows)
        table.add_row(
            row.name,
            "-" if row.score is None else str(row.score.micro_f1),
            "-" if row.score is None else str(row.score.macro_f1),
            "-" if distance is None else f"{distance:.3f}",
            f"{max(report.worker_seconds):.1f} s",
            f"{report.seconds.total:.1f} s",
            format_bytes(max(report.worker_peaks)),
        )
    return table
