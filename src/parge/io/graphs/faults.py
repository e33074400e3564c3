"""What is wrong with a line of a text edge list, said to a person; used after parsing has failed."""

import numpy as np

from parge.io.files import MAX_LINE
from parge.io.graphs.layout import NUMBER, Layout, is_integer


def line_fault(line: bytes, layout: Layout) -> str:
    """Say what is wrong with a line and what to do; nothing where it is an edge, a comment or empty."""
    if len(line) > MAX_LINE:
        return f"a line has {len(line):,} bytes. Write one edge per line."
    try:
        text = _text(line, layout)
    except UnicodeDecodeError as error:
        byte = error.object[error.start : error.start + 1].hex()
        return f"this is not UTF-8 text (byte 0x{byte}). Convert the file to UTF-8, for example with iconv."
    return _fields_fault(layout.split(text), text, layout) if text.strip(" \t") else ""


def has_integer_ids(line: bytes, layout: Layout) -> bool:
    """Return whether both ids of a faultless line are integers; so are those of a comment, which has none."""
    text = _text(line, layout)
    fields = layout.split(text) if text.strip(" \t") else []
    return not fields or all(is_integer(fields[place]) for place in layout.columns.used[:2])


def _text(line: bytes, layout: Layout) -> str:
    return layout.cleaned(line).decode().strip("\r\n")


def _fields_fault(fields: list[str], text: str, layout: Layout) -> str:
    shown = f"in {text[:80]!r}"
    if layout.delimiter == "," and text.count('"') % 2:
        return f"a quote is not closed, {shown}. Close it; ids cannot hold line breaks."
    if len(fields) != layout.n_columns:
        return (
            f"the first line has {layout.n_columns} columns, this one has {len(fields)}, {shown}. Write one edge per "
            "line, all with the same columns."
        )
    source, target, *weights = (fields[place] for place in layout.columns.used)
    if not source or not target:
        return f"an id is empty, {shown}. Every edge needs two ids."
    if weights and not _is_weight(weights[0]):
        return (
            f"the weight {weights[0][:80]!r} must be a finite number from 0 to 3.4e38, {shown}. Correct it, name the "
            "weight column (--weight), or ignore weights (weighted=False, --unweighted)."
        )
    return ""


def _is_weight(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and 0 <= float(text) <= float(np.finfo(np.float32).max)
