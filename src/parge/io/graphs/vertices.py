"""Files of vertex ids, one per line: vertices that no edge may name."""

from pathlib import Path

import numpy as np

from parge.errors import InputError
from parge.ids import STRING, as_numbers
from parge.io.files import line_number, read_segments, without_comments
from parge.memory import refuse_over_budget
from parge.typing import IdArray

# Bytes of text read together.
_BLOCK = 1 << 20

# Measured at the peak for an id of a file: as a string, as an integer, and joined with those of the edges.
_ID_BYTES = 130


def read_vertices(path: Path) -> IdArray:
    """Read ids, one per line; lines that start with # or % are comments, blanks around an id are not part of it."""
    ids: list[IdArray] = []
    n_ids = n_text = 0
    for offset, segment in read_segments(path, size=_BLOCK):
        try:
            text = without_comments(bytes(segment)).decode("utf-8-sig" if offset == 0 else "utf-8")
        except UnicodeDecodeError as error:
            line = line_number(path, offset) + bytes(segment[: error.start]).count(b"\n")
            raise InputError(
                f"{path}, about line {line:,}: this is not UTF-8 text. Give a text file with one vertex id per line."
            ) from None
        names = [stripped for line in text.split("\n") if (stripped := line.strip(" \t\r"))]
        ids.append(np.array(names, STRING))
        n_ids, n_text = n_ids + len(names), n_text + len(text)
        refuse_over_budget(_ID_BYTES * n_ids + 4 * n_text, f"{path} names {n_ids:,} vertices or more")
    if not n_ids:
        raise InputError(f"{path} names no vertex. Write one id per line.")
    return as_numbers(np.concatenate(ids))
