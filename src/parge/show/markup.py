"""HTML made from values: everything that is not markup is escaped, so that data stays data."""

from collections.abc import Iterable
from html import escape
from typing import Any

_VOID = {"input", "meta"}


class Markup(str):
    """Text that is HTML, and is inserted unchanged."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element; children and attributes are escaped unless they are markup.

    Attributes that are None or False are omitted, and True gives an attribute without a value. ``class_`` means
    class, and other underscores become hyphens.

    >>> tag("p", "1 < 2", class_="note", hidden=False)
    '<p class="note">1 &lt; 2</p>'
    """
    opened = "".join([f"<{name}", *(_attribute(key, value) for key, value in attributes.items()), ">"])
    return Markup(opened if name in _VOID else f"{opened}{joined(children)}</{name}>")


def joined(children: Iterable[Any], between: str = "") -> Markup:
    """Return the children joined; those that are not markup are escaped, None is skipped."""
    return Markup(
        between.join(
            child if isinstance(child, Markup) else escape(str(child)) for child in children if child is not None
        )
    )


def named(value: Any) -> Markup:
    """Return a name from data, isolated from the direction of the text around it."""
    return tag("bdi", value)


def rows_of(headings: Iterable[Any], rows: Iterable[Iterable[Any]]) -> Markup:
    """Return a table for a notebook: numbers and words to the right, as its own style sheet has it."""
    head = tag("tr", *(tag("th", heading) for heading in headings))
    return tag("table", tag("thead", head), tag("tbody", *(tag("tr", *(tag("td", c) for c in row)) for row in rows)))


def definition_table(title: str, pairs: Iterable[tuple[str, Any]], notes: Iterable[Any] = ()) -> Markup:
    """Return a value for a notebook: its title, names with what they are, and notes below; None is left out.

    >>> definition_table("Graph", [("vertices", 3), ("weights", None)])
    '<div><b>Graph</b><table><tbody><tr><th>vertices</th><td>3</td></tr></tbody></table></div>'
    """
    rows = [tag("tr", tag("th", name), tag("td", value)) for name, value in pairs if value is not None]
    below = [tag("div", note) for note in notes]
    return tag("div", tag("b", title), tag("table", tag("tbody", *rows)), *below)


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
