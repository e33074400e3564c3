"""The pictures of a report that need no script: sizes, edges, the cut, time, memory, residuals."""

from itertools import combinations
from typing import Any

import numpy as np

from parge.memory import format_bytes
from parge.report.bars import Column, Mark, Stretch, bar, framed, key, table
from parge.report.collect import Findings
from parge.show.markup import Markup, joined, tag
from parge.space.aging import EMBED_AGAIN
from parge.stage_reports import Part, Residual

# Shades of the cut matrix, the lightest 0; each is a class of the style sheet.
_SHADES = 10

# A number fits a cell up to the first number of parts; a matrix fits a page up to the second.
_NUMBERED, _WHOLE = 12, 64

# sqrt(2): the residual of spaces that have nothing to do with each other.
_UNRELATED = 2**0.5


def sizes(findings: Findings) -> Markup:
    """Return the vertices of each subgraph (own and others) and its capacity."""
    anchors, with_context = findings.anchors, any(part.halo or part.supervertices for part in findings.parts)
    largest = max(part.vertices for part in findings.parts)
    # Capacities that follow from bytes can be many times what is used; the scale stays with the sizes.
    limit = max(1, largest, min(2 * largest, max(part.capacity for part in findings.parts)))
    rows = [
        [
            str(i),
            bar(
                limit,
                [Stretch(count, kind, f"{count:,} {words}") for count, kind, words in _held(part, anchors)],
                [Mark(part.capacity, "limit", f"capacity {part.capacity:,} vertices")]
                if part.capacity <= limit
                else (),
            ),
            *(f"{count:,}" for count, *_ in _held(part, anchors)[: 4 if with_context else 2]),
            f"{part.vertices:,}",
            f"{part.capacity:,}",
            f"{part.vertices / max(1, part.capacity):.0%}",
            f"{part.edges:,}",
            f"{part.kept_edges:.1%}",
        ]
        for i, part in enumerate(findings.parts)
    ]
    columns = [Column("subgraph", "text"), Column("vertices", "bar", f"{limit:,}"), Column("own"), Column("anchors")]
    columns += [Column("halo"), Column("super-vertices")] if with_context else []
    columns += [Column("total"), Column("capacity"), Column("full"), Column("edges"), Column("kept")]
    around = [("halo", _HALO), ("supervertex", _SUPERVERTICES)] if with_context else []
    said = key(("own", "own vertices"), ("anchor", "anchors"), *around, ("mark limit", "capacity"))
    return joined([said, table(columns, rows, caption="Vertices and capacity of each subgraph")])


_HALO, _SUPERVERTICES = "halo: nearby vertices of other parts", "super-vertices: the rest of the graph, merged"


def _held(part: Part, n_anchors: int) -> list[tuple[int, str, str]]:
    """Return the kinds of vertices of a subgraph: number, class in the style sheet, and description."""
    return [
        (part.own, "own", "own vertices"),
        (n_anchors, "anchor", "anchors"),
        (part.halo, "halo", "vertices of other parts (halo)"),
        (part.supervertices, "supervertex", "super-vertices"),
    ]


def edges(findings: Findings) -> Markup:
    """Return where the edges of the graph are: within parts, at anchors, in halos, or lost."""
    total, counts = max(1, sum(findings.edges.to_json().values())), findings.edges
    kinds = [
        ("own", counts.inside, "within a part"),
        ("anchor", counts.at_anchors, "at an anchor, held by a subgraph"),
        ("halo", counts.in_halos, "between two parts, in a halo"),
        ("lost", counts.lost, "lost: between two parts, held by neither"),
    ]
    if not counts.in_halos:
        del kinds[2]
    drawn = bar(total, [Stretch(count, kind, f"{count:,} edges {words}") for kind, count, words in kinds])
    said = key(*((kind, f"{words}: {count:,} ({count / total:.1%})") for kind, count, words in kinds))
    return joined([tag("div", drawn, class_="wide"), said])


def anchors(findings: Findings) -> Markup:
    """Return the number of anchors and the number of dimensions, which it must exceed."""
    n_anchors, dim = findings.anchors, findings.dim
    limit = 1.08 * max(n_anchors, 2 * dim, 1)
    drawn = bar(
        limit,
        [Stretch(n_anchors, "anchor" if n_anchors >= dim else "lost", f"{n_anchors:,} anchors")],
        [
            Mark(dim, "limit", f"{dim} dimensions: fewer anchors do not determine a rotation"),
            Mark(2 * dim, "soft", f"{2 * dim}: twice the dimensions, enough for a stable rotation"),
        ],
    )
    said = key(
        ("anchor", f"{n_anchors:,} anchors"),
        ("mark limit", f"d = {dim}: at least this many are required"),
        ("mark soft", f"2 d = {2 * dim}: enough for a stable rotation"),
    )
    return joined([tag("div", drawn, class_="wide"), said])


def cut_matrix(findings: Findings) -> Markup:
    """Return the edges lost between each two parts as a shaded matrix; for very many parts, only the worst pairs."""
    n_parts, cut = len(findings.parts), findings.lost + np.diag(np.diagonal(findings.cut))
    if n_parts > _WHOLE:
        return _worst_pairs(findings)
    most_inside = int(np.diagonal(cut).max(initial=0))
    most_between = int(np.triu(cut, 1).max(initial=0))
    head = tag("tr", tag("td"), *(tag("th", j, scope="col") for j in range(n_parts)))
    rows = [
        tag("tr", tag("th", i, scope="row"), *(_cut_cell(cut, i, j, most_inside, most_between) for j in range(n_parts)))
        for i in range(n_parts)
    ]
    caption = "Edges inside the parts (diagonal) and lost between them, without edges at anchors and in halos"
    matrix = framed(head, rows, caption=caption, class_="heat" if n_parts <= _NUMBERED else "heat small")
    said = key(
        ("heat-inside", f"inside a part, up to {most_inside:,}"),
        ("heat-between", f"lost between two parts, up to {most_between:,}"),
    )
    return joined([matrix, said])


def _cut_cell(cut: Any, i: int, j: int, most_inside: int, most_between: int) -> Markup:
    count = int(cut[i, j])
    most, kind = (most_inside, "inside") if i == j else (most_between, "between")
    shade = round((_SHADES - 1) * count / most) if most else 0
    where = f"inside part {i}" if i == j else f"lost between parts {i} and {j}"
    text = _short(count) if len(cut) <= _NUMBERED else None
    return tag("td", text, class_=f"{kind} shade{shade}", title=f"{count:,} edges {where}")


def _worst_pairs(findings: Findings) -> Markup:
    lost, n_lost = findings.lost, max(1, findings.edges.lost)
    pairs = sorted(combinations(range(len(findings.parts)), 2), key=lambda pair: -int(lost[pair]))[:20]
    rows = [[f"{i} and {j}", f"{int(lost[i, j]):,}", f"{lost[i, j] / n_lost:.1%}"] for i, j in pairs]
    columns = [Column("parts", "text"), Column("edges lost"), Column("share of all lost")]
    return table(columns, rows, caption=f"The pairs of parts that lose the most edges, of {len(findings.parts)} parts")


def _short(count: int) -> str:
    """Format a count in about four characters.

    >>> _short(950), _short(12_345), _short(3_400_000)
    ('950', '12k', '3.4M')
    """
    for scale, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= scale:
            return f"{count / scale:.1f}{unit}" if count < 10 * scale else f"{count / scale:.0f}{unit}"
    return str(count)


def workers(findings: Findings) -> Markup:
    """Return the time of each worker and the mean, and its memory, projection and budget."""
    found, seconds, peaks = findings.parts, findings.report.worker_seconds, findings.report.worker_peaks
    longest, mean = max(seconds), sum(seconds) / len(seconds)
    with_budget = any(part.budget_bytes for part in found)
    largest = max(*peaks, *(part.projected_bytes for part in found), *(part.budget_bytes or 0 for part in found))
    columns = [Column("subgraph", "text"), Column("time", "bar", seconds_text(longest)), Column("took")]
    columns += [Column("memory", "bar", format_bytes(largest)), Column("measured"), Column("at most")]
    columns += [Column("budget")] if with_budget else []
    rows = [
        [
            str(i),
            bar(
                longest, [Stretch(took, "time", seconds_text(took))], [Mark(mean, "soft", f"mean {seconds_text(mean)}")]
            ),
            seconds_text(took),
            _memory_bar(part, peak, largest),
            format_bytes(peak),
            format_bytes(part.projected_bytes),
            *([format_bytes(part.budget_bytes) if part.budget_bytes else "-"] if with_budget else []),
        ]
        for i, (part, took, peak) in enumerate(zip(found, seconds, peaks, strict=True))
    ]
    entries = [("time", "time to embed"), ("mark soft", "mean time"), ("memory", "measured peak memory")]
    entries += [("mark limit", "projected bound"), *([("mark budget", "budget")] if with_budget else [])]
    said = key(*entries)
    return joined([said, table(columns, rows, caption="Time and memory of each worker")])


def _memory_bar(part: Part, peak: int, largest: float) -> Markup:
    bound, budget = part.projected_bytes, part.budget_bytes
    within = peak <= (min(bound, budget) if budget else bound)
    marks = [Mark(bound, "limit", f"projected: at most {format_bytes(bound)}")]
    if budget:
        marks.append(Mark(budget, "budget", f"budget {format_bytes(budget)}"))
    return bar(largest, [Stretch(peak, "memory" if within else "lost", f"measured {format_bytes(peak)}")], marks)


def seconds_text(seconds: float) -> str:
    """Format a time.

    >>> seconds_text(0.1234), seconds_text(12.34), seconds_text(4000)
    ('0.12 s', '12.3 s', '1 h 6 min')
    """
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    if seconds >= 600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"


def residuals(findings: Findings) -> Markup:
    """Return how far the anchors of each subgraph are from the others: before, after, and held out."""
    found = findings.residuals
    limit = max(_UNRELATED, *(residual.before for residual in found), 0.0) * 1.04
    rows = [
        [
            str(i),
            bar(limit, (), [Mark(_UNRELATED, "soft", "141 %: unrelated"), *_residual_dots(residual)]),
            f"{residual.before:.1%}",
            f"{residual.after:.1%}",
            "-" if residual.held_out is None else f"{residual.held_out:.1%}",
        ]
        for i, residual in enumerate(found)
    ]
    columns = [Column("subgraph", "text"), Column("anchors off by", "bar", f"{limit:.0%}")]
    columns += [Column("before"), Column("after"), Column("held out")]
    said = key(
        ("dot before", "before"),
        ("dot after", "after"),
        ("dot held", "after, on held-out anchors"),
        ("mark soft", "141 %: unrelated spaces"),
    )
    return joined([said, table(columns, rows, caption="How far the anchors of each subgraph are off")])


def ages(findings: Findings) -> Markup:
    """Return the drift of a space at each look, with its error, and where a fresh embedding is advised."""
    found = findings.ages
    limit = 1.08 * max(2 * EMBED_AGAIN, *(age.drift + age.error for age in found))
    rows = [
        [
            str(age.version),
            bar(
                limit,
                [Stretch(age.drift, "own", f"drift {age.drift:.3f} ± {age.error:.3f}")],
                [
                    Mark(
                        max(0.0, age.drift - age.error), "dot before", f"at least {max(0.0, age.drift - age.error):.3f}"
                    ),
                    Mark(age.drift + age.error, "dot before", f"at most {age.drift + age.error:.3f}"),
                    Mark(EMBED_AGAIN, "limit", f"from {EMBED_AGAIN} on: embed again"),
                ],
            ),
            f"{age.drift:.3f}",
            f"{age.error:.3f}",
            f"{age.placed:.1%}",
            f"{age.edges:.1%}",
        ]
        for age in found
    ]
    columns = [Column("version", "text"), Column("drift", "bar", f"{limit:.2f}"), Column("drift"), Column("±")]
    columns += [Column("vertices placed or moved"), Column("edges changed")]
    said = key(
        ("own", "drift"),
        ("dot before", "less and plus its error"),
        ("mark limit", f"from {EMBED_AGAIN} on: embed again"),
    )
    return joined([said, table(columns, rows, caption="Drift of the space after updates")])


def _residual_dots(residual: Residual) -> list[Mark]:
    dots = [Mark(residual.before, "dot before", f"before {residual.before:.1%}")]
    if residual.held_out is not None:
        dots.append(Mark(residual.held_out, "dot held", f"held out {residual.held_out:.1%}"))
    dots.append(Mark(residual.after, "dot after", f"after {residual.after:.1%}"))
    return dots
