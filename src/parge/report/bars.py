"""Bars in tables: each row has its numbers and its bar; all bars of a column have one scale.

Positions are shares of the width, so a picture fits any screen or sheet, and needs no script.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parge.show.markup import Markup, joined, tag

_HEIGHT = 18


@dataclass(frozen=True)
class Stretch:
    """A piece of a bar, starting where the previous one ends; `kind` is its class in the style sheet."""

    length: float
    kind: str
    tip: str


@dataclass(frozen=True)
class Mark:
    """A line across a bar, or a dot on it (`kind` starts with ``dot``)."""

    at: float
    kind: str
    tip: str


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and whether it holds numbers, text or bars."""

    heading: str  # its heading; for bars, `scale` is shown next to it
    kind: str = "number"  # number, text or bar
    scale: str = ""  # the value of the full width of a bar


def bar(limit: float, stretches: Sequence[Stretch] = (), marks: Sequence[Mark] = ()) -> Markup:
    """Return one bar; `limit` is the value of its full width."""
    drawn, start = [], 0.0
    for piece in stretches:
        drawn.append(_stretch(start, piece, limit))
        start += piece.length
    dots = [mark.at for mark in marks if mark.kind.startswith("dot")]
    if len(dots) > 1:
        ends = {"x1": _percent(min(dots), limit), "x2": _percent(max(dots), limit)}
        drawn.append(tag("line", class_="between", y1=_HEIGHT / 2, y2=_HEIGHT / 2, **ends))
    drawn += [_mark(mark, limit) for mark in marks]
    said = "; ".join([*(piece.tip for piece in stretches), *(mark.tip for mark in marks)])
    return tag("svg", *drawn, class_="bar", width="100%", height=_HEIGHT, role="img", aria_label=said)


def _stretch(start: float, piece: Stretch, limit: float) -> Markup:
    return tag(
        "rect",
        tag("title", piece.tip),
        class_=piece.kind,
        x=_percent(start, limit),
        width=_percent(piece.length, limit),
        y=2,
        height=_HEIGHT - 4,
    )


def _mark(mark: Mark, limit: float) -> Markup:
    at, title = _percent(mark.at, limit), tag("title", mark.tip)
    if mark.kind.startswith("dot"):
        return tag("circle", title, class_=mark.kind, cx=at, cy=_HEIGHT / 2, r=5)
    return tag("line", title, class_=f"mark {mark.kind}", x1=at, x2=at, y1=0, y2=_HEIGHT)


def _percent(value: float, limit: float) -> str:
    share = value / limit if limit > 0 else 0.0
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def table(columns: Sequence[Column], rows: Sequence[Sequence[Any]], *, caption: str, class_: str = "") -> Markup:
    """Return a table; the first cell of a row is its heading."""
    head = tag("tr", *(_heading(column) for column in columns))
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", value, class_=column.kind) for column, value in zip(columns[1:], row[1:], strict=True)),
        )
        for row in rows
    ]
    return framed(head, body, caption=caption, class_=class_)


def framed(head: Markup, body: Sequence[Markup], *, caption: str, class_: str = "") -> Markup:
    """Return rows as a table that scrolls where it is too wide for the page."""
    inner = joined([tag("caption", caption), tag("thead", head), tag("tbody", *body)])
    held = tag("table", inner, class_=class_ or None)
    return tag("div", held, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _heading(column: Column) -> Markup:
    scale = tag("span", tag("span", "0"), tag("span", column.scale), class_="scale") if column.scale else None
    return tag("th", column.heading, scale, scope="col", class_=column.kind)


def key(*entries: tuple[str, str]) -> Markup:
    """Return the legend: pairs of class and meaning."""
    return tag("ul", *(tag("li", swatch(kind), meaning) for kind, meaning in entries), class_="key")


def swatch(kind: str) -> Markup:
    """Return a small sample of a class as bars draw it."""
    if kind.startswith("dot"):
        shape = tag("circle", class_=kind, cx=7, cy=7, r=5)
    elif kind.startswith("mark"):
        shape = tag("line", class_=kind, x1=7, x2=7, y1=0, y2=14)
    else:
        shape = tag("rect", class_=kind, x=1, y=1, width=12, height=12)
    return tag("svg", shape, class_="swatch", width=14, height=14, aria_hidden="true")
