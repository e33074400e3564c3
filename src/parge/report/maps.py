"""The pictures of the embedding: dots in panels that work without a script, and the data to move them."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from parge.report.collect import Atlas, MapView
from parge.report.coloring import N_COLORS
from parge.report.projection import SIDE, Projection
from parge.show.markup import Markup, joined, named, tag
from parge.typing import BoolArray, IntArray

# Dots are painted in rounds through all groups, so that no group covers the others.
_ROUNDS = 6

_CAPTIONS = {
    "before": "local vectors, not aligned",
    "after": "aligned in one space",
    "together": "local vectors, already in one space",
    "written": "as in the file, after the final pass",
    "vectors": "of all vertices, in one space",
}
_EXPLAINED = {"together", "vectors"}  # also where they are alone


_WATCH = "Watch them move"


def panels(atlas: Atlas) -> Markup:
    """Return one panel per view, coloured by label if there are labels, and the last view coloured by part."""
    first, *other = atlas.colorings
    drawn = [_panel(atlas, number, view, by=first) for number, view in enumerate(atlas.views)]
    drawn += [_panel(atlas, len(atlas.views) - 1, atlas.views[-1], by=by) for by in other]
    return joined(drawn)


def _panel(atlas: Atlas, number: int, view: MapView, *, by: str) -> Markup:
    projection = atlas.projections[0]
    plane = projection.views[number]
    caption = [tag("b", f"{view.title}, by {by}" if len(atlas.colorings) > 1 else view.title), " "]
    several = len(atlas.views) > 1 or view.key in _EXPLAINED
    caption.append(tag("span", _CAPTIONS[view.key] if several else "coloured by " + by))
    words = {drawn.name: _drawn_by(drawn, number) for drawn in atlas.projections}
    caption.append(tag("small", words[projection.name], data_words=json.dumps(words)))
    return tag(
        "figure",
        tag("figcaption", *caption),
        tag(
            "svg",
            *_layers(
                _dots(atlas, plane, _groups(atlas, by), by),
                _links(plane, atlas.sample.place, atlas.sample.is_copy),
                _copies(atlas, plane, _groups(atlas, by), by),
            ),
            viewBox=f"0 0 {SIDE} {SIDE}",
            role="img",
            tabindex=0,
            aria_label=f"{view.title}: {len(atlas.names):,} vertices, coloured by {by}",
        ),
        class_="panel",
        data_view=view.key,
        data_by=by,
    )


def _drawn_by(projection: Projection, number: int) -> str:
    if projection.explained:
        return f"{projection.name}, {projection.explained[number]:.0%} of the variance"
    return f"{projection.name}: neighbours stay together, distances between groups mean little"


def _layers(dots: Sequence[Markup] = (), links: str = "", copies: Sequence[Markup] = ()) -> list[Markup]:
    """Return the layers in drawing order: dots, lines between copies of an anchor, the copies, the selection."""
    lines = tag("path", class_="links", d=links)
    return [tag("g", *dots, class_="dots"), lines, tag("g", *copies, class_="copies"), tag("g", class_="picked")]


def _groups(atlas: Atlas, by: str) -> IntArray:
    if by == "part" or atlas.labels is None:
        return atlas.sample.part
    return np.asarray(atlas.labels.group[atlas.sample.place])


def _dots(atlas: Atlas, plane: IntArray, groups: IntArray, by: str) -> list[Markup]:
    """Return one path per group and round; a dot is a very short line with round or square ends."""
    is_copy, number = atlas.sample.is_copy, np.arange(len(plane))
    drawn = []
    for turn in range(_ROUNDS):
        for group in np.unique(groups).tolist():
            chosen = (groups == group) & ~is_copy & (number % _ROUNDS == turn)
            if chosen.any():
                drawn.append(_path(plane, chosen, f"dot {group_class(atlas, group, by)}", group))
    return drawn


def _copies(atlas: Atlas, plane: IntArray, groups: IntArray, by: str) -> list[Markup]:
    """Return the copies of anchors as rings: a large dot with a small dot in the background colour on it."""
    is_copy, drawn = atlas.sample.is_copy, []
    for group in np.unique(groups[is_copy]).tolist():
        chosen = (groups == group) & is_copy
        drawn.append(_path(plane, chosen, f"copy {group_class(atlas, group, by)}", group))
        drawn.append(_path(plane, chosen, "hole", group))
    return drawn


def _path(plane: IntArray, chosen: BoolArray, class_: str, group: int) -> Markup:
    return tag("path", class_=class_, data_group=group, d="".join(f"M{x} {y}h.01" for x, y in plane[chosen].tolist()))


def _links(plane: IntArray, place: IntArray, is_copy: BoolArray) -> str:
    """Return lines from the middle of each anchor's copies to every copy."""
    lines = []
    for vertex in np.unique(place[is_copy]).tolist():
        copies = plane[is_copy & (place == vertex)]
        x, y = np.rint(copies.mean(axis=0)).astype(int).tolist()
        lines += [f"M{x} {y}L{a} {b}" for a, b in copies.tolist()]
    return "".join(lines)


def group_class(atlas: Atlas, group: int, by: str) -> str:
    """Return the class that gives a group its colour and shape."""
    if by == "label" and atlas.labels is not None and group >= atlas.labels.other:
        return "rest" if group == atlas.labels.other else "none"
    return f"g{group % N_COLORS}"


def controls(atlas: Atlas) -> Markup:
    """Return the controls of views and colours; hidden until the script runs."""
    keys = [(view.key, f"{view.title} alone") for view in atlas.views]
    several = len(atlas.views) > 1
    show = [("all", "Side by side"), *keys, ("watch", _WATCH)] if several else []
    by = [(name, name) for name in atlas.colorings] if len(atlas.colorings) > 1 else []
    maps = [(str(i), projection.name) for i, projection in enumerate(atlas.projections)]
    joins = tag("label", tag("input", type="checkbox", id="links", checked=True), "connect the copies of an anchor")
    find = tag(
        "label", "Find a vertex ", tag("input", type="search", id="find", autocomplete="off", spellcheck="false")
    )
    shown = [
        _switch("show", "Show", show),
        _switch("by", "Colour by", by),
        _switch("projection", "Drawn by", maps if len(maps) > 1 else []),
        joins if atlas.sample.is_copy.any() and several else None,
        find,
    ]
    return tag("div", *shown, class_="controls", hidden=True)


def _switch(name: str, words: str, choices: Sequence[tuple[str, str]]) -> Markup | None:
    if not choices:
        return None
    buttons = [
        tag("label", tag("input", type="radio", name=name, value=value, checked=i == 0), tag("span", text))
        for i, (value, text) in enumerate(choices)
    ]
    return tag("fieldset", tag("legend", words), *buttons, class_="switch")


def watch_panel(atlas: Atlas) -> Markup | None:
    """Return the panel in which the spaces move from before to after alignment."""
    if len(atlas.views) < 2:
        return None
    first, last = atlas.views[0].title.lower(), atlas.views[-1].title.lower()
    slide = tag("input", type="range", id="moment", min=0, max=100, value=0, aria_label=f"from {first} to {last}")
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("b", _WATCH),
            " ",
            tag("span", "movement between the two pictures is drawn as straight lines"),
        ),
        tag(
            "svg",
            *_layers(),
            viewBox=f"0 0 {SIDE} {SIDE}",
            role="img",
            tabindex=0,
            aria_label=f"The same vertices, moving from {first} to {last}",
        ),
        tag(
            "div",
            tag("button", "Play", type="button", id="play"),
            tag("span", first),
            slide,
            tag("span", last),
            class_="slide",
        ),
        class_="panel",
        data_view="watch",
        data_by=atlas.colorings[0],
        hidden=True,
    )


def legends(atlas: Atlas) -> Markup:
    """Return the legend, by part and by label; each entry can be highlighted."""
    n_parts, found = int(atlas.sample.part.max(initial=-1)) + 1, []
    if n_parts > 1:
        found.append(_legend(atlas, "part", [(i, f"part {i}") for i in range(n_parts)]))
    if atlas.labels is not None:
        entries: list[tuple[int, Any]] = [(i, named(name)) for i, name in enumerate(atlas.labels.names)]
        present = set(atlas.labels.group.tolist())
        rest = [(atlas.labels.other, "other labels"), (atlas.labels.unlabelled, "no label")]
        found.append(_legend(atlas, "label", [*entries, *(entry for entry in rest if entry[0] in present)]))
    return joined(found)


def _legend(atlas: Atlas, by: str, entries: Sequence[tuple[int, Any]]) -> Markup:
    buttons = [
        tag(
            "button",
            _legend_mark(group_class(atlas, group, by)),
            words,
            type="button",
            data_group=group,
            aria_pressed="false",
        )
        for group, words in entries
    ]
    return tag("div", tag("span", by), *buttons, class_="legend", data_by=by, role="group", aria_label=f"by {by}")


def _legend_mark(class_: str) -> Markup:
    dot = tag("path", class_=f"dot {class_}", d="M7 7h.01")
    return tag("svg", dot, class_="swatch", width=14, height=14, aria_hidden="true")


def map_data(atlas: Atlas) -> dict[str, Any]:
    """Return the data with which the script recolours, moves and names the dots."""
    sample, labels = atlas.sample, atlas.labels
    return {
        "side": SIDE,
        "rounds": _ROUNDS,
        "names": atlas.names,
        "place": sample.place.tolist(),
        "part": sample.part.tolist(),
        "copy": sample.is_copy.astype(int).tolist(),
        "views": [view.key for view in atlas.views],
        "projections": [
            {
                "name": projection.name,
                "views": {
                    view.key: plane.ravel().tolist() for view, plane in zip(atlas.views, projection.views, strict=True)
                },
            }
            for projection in atlas.projections
        ],
        "labels": None
        if labels is None
        else {"group": labels.group.tolist(), "texts": labels.texts, "other": labels.other},
        "colors": N_COLORS,
        "colorings": atlas.colorings,
        "near": atlas.near.tolist(),
        "cosines": np.rint(100 * atlas.cosines).astype(int).tolist(),
    }
