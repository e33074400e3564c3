"""What the formats share: matrices written a block at a time, and reports as JSON."""

import json
from dataclasses import asdict, fields
from typing import IO, Any, NamedTuple

import numpy as np

from parge.errors import InputError
from parge.links import LinkHead
from parge.numbers import check_number
from parge.result import Report
from parge.storage import release_pages, row_blocks, rows_at_once
from parge.typing import BoolArray, FloatArray, IdArray, IntArray


class Vectors(NamedTuple):
    """What a file of vectors holds, before it is looked at: one row per id, and how they were computed."""

    vectors: FloatArray
    ids: IdArray
    report: Report = Report()
    head: LinkHead | None = None
    degrees: IntArray | None = None

    @property
    def dim(self) -> int:
        """Number of columns."""
        return int(self.vectors.shape[1])


def write_matrix(file: IO[bytes], vectors: FloatArray) -> None:
    """Write a matrix as ``.npy`` does, a block at a time: it may be a memory map that is larger than memory."""
    header = {"descr": np.lib.format.dtype_to_descr(vectors.dtype), "fortran_order": False, "shape": vectors.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for rows in row_blocks(len(vectors), rows_at_once(vectors.shape[1])):
        file.write(np.ascontiguousarray(vectors[rows]).data)
        release_pages(vectors)


def report_bytes(report: Report) -> bytes:
    """Return the report as JSON."""
    return json.dumps(report.to_json()).encode()


def read_report(text: bytes | None) -> Report:
    """Return the report that `report_bytes` wrote, now or in an earlier version; an empty one where there is none."""
    return Report.from_json(json.loads(text)) if text else Report()


def head_bytes(head: LinkHead) -> bytes:
    """Return the degree head as JSON."""
    return json.dumps(asdict(head)).encode()


def read_head(text: bytes | None) -> LinkHead | None:
    """Return the head that `head_bytes` wrote; raise where it is none."""
    return head_of(json.loads(text)) if text else None


def head_of(found: Any) -> LinkHead:
    """Return a head from its numbers by name; raise where they are none."""
    names = [item.name for item in fields(LinkHead)]
    if not isinstance(found, dict) or sorted(found) != sorted(names):
        raise InputError(f"the degree head must have the numbers {', '.join(names)}")
    return LinkHead(**{name: check_number(f"the {name} of the degree head", found[name]) for name in names})


def containing(ids: IdArray, characters: str) -> BoolArray:
    """Return which string ids hold any of the characters."""
    found = np.zeros(ids.size, np.bool_)
    for character in characters:
        found |= np.strings.find(ids, character) >= 0
    return found
