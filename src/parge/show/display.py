"""What notebooks show of our values; names and messages are text there, whoever wrote them."""

from collections.abc import Iterable, Mapping
from typing import Any

from parge.ids import show_ids
from parge.memory import format_bytes
from parge.show.markup import Markup, definition_table, rows_of
from parge.show.text import on_one_line, printable

# Rows and columns of an embedding that are shown.
_SHOWN = 5


def graph_html(graph: Any) -> Markup:
    """Return the counts of a `Graph`, and its notices."""
    degrees, weights = graph.degrees, graph.weights
    isolated = int((degrees == 0).sum())
    pairs = [
        ("vertices", f"{graph.n_vertices:,}"),
        ("edges", f"{graph.n_edges:,}"),
        ("mean degree", f"{2 * graph.n_edges / max(1, graph.n_vertices):.1f}"),
        ("largest degree", f"{int(degrees.max(initial=0)):,}"),
        ("isolated vertices", f"{isolated:,}" if isolated else None),
        ("weights", f"{weights.min():.4g} to {weights.max():.4g}" if graph.n_edges and weights is not None else None),
        ("features", None if graph.features is None else f"{graph.features.shape[1]:,}"),
        ("ids", show_ids(graph.outside_ids) if graph.n_vertices else None),
    ]
    return definition_table("Graph", pairs, said(graph.notices, ()))


def plan_html(fields: Mapping[str, Any]) -> Markup:
    """Return the fields of a `Plan` that are given."""
    return definition_table(
        "Plan", ((name, printable(value, 200)) for name, value in fields.items() if value is not None)
    )


def report_html(report: Any) -> Markup:
    """Return the numbers of a `Report`, its notices and warnings."""
    pairs = [
        ("vertices", None if report.vertices is None else f"{report.vertices:,}"),
        ("edges", None if report.edges is None else f"{report.edges:,}"),
        ("technique", None if report.technique is None else on_one_line(report.technique, 60)),
        ("dimensions", report.dim),
        ("parts", len(report.parts) or None),
        ("anchors", None if report.anchors is None else f"{report.anchors:,}"),
        ("lost edges", None if report.lost_edges is None else f"{report.lost_edges:.2%}"),
        ("most memory of a worker", format_bytes(max(report.worker_peaks)) if report.is_measured else None),
        *((f"seconds: {stage}", f"{took:.1f}") for stage, took in report.seconds.stages()),
    ]
    return definition_table("Report", pairs, said(report.notices, report.warnings))


def embedding_html(embedding: Any) -> Markup:
    """Return the first rows of an `Embedding`, and how it was computed."""
    report, shown = embedding.report, embedding.ids[:_SHOWN].tolist()
    known = {
        "technique": None if report.technique is None else on_one_line(report.technique, 60),
        "parts": len(report.parts) or None,
        "lost edges": None if report.lost_edges is None else f"{report.lost_edges:.2%}",
        "seconds": None if report.seconds.total is None else f"{report.seconds.total:.1f}",
    }
    more = ["..."] if embedding.dim > _SHOWN else []
    rows = [[on_one_line(name, 60), *_numbers(row), *more] for name, row in zip(shown, embedding.vectors, strict=False)]
    table = [rows_of(["id", *range(min(embedding.dim, _SHOWN)), *more], rows)] if rows else []
    return definition_table(repr(embedding), known.items(), [*table, *said((), report.warnings)])


def _numbers(vector: Any) -> list[str]:
    return [f"{value:.3g}" for value in vector[:_SHOWN].tolist()]


def said(notices: Iterable[str], warnings: Iterable[str]) -> list[str]:
    """Return notices and warnings, each as one line."""
    labelled = [("notice", notices), ("warning", warnings)]
    return [f"{label}: {printable(text)}" for label, texts in labelled for text in texts]
