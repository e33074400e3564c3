"""What the formats share: files that appear only when complete, and reports as JSON."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import numpy as np

from parge.embedding import Embedding
from parge.typing import BoolArray, IdArray


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when it is complete, and vanishes if it never is."""
    temporary = path.with_name(f".parge-{uuid4().hex}.part")
    try:
        with temporary.open("xb") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def report_bytes(embedding: Embedding) -> bytes:
    """Return the report as JSON; what JSON has no form for is written as text."""
    return json.dumps(embedding.report, default=str).encode()


def read_report(text: bytes | None) -> dict[str, Any]:
    """Return the report that `report_bytes` wrote; an empty one where there is none."""
    report = json.loads(text) if text else {}
    return report if isinstance(report, dict) else {}


def containing(ids: IdArray, characters: str) -> BoolArray:
    """Return which string ids hold any of the characters."""
    found = np.zeros(ids.size, np.bool_)
    for character in characters:
        found |= np.strings.find(ids, character) >= 0
    return found
