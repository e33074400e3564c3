"""``.safetensors``: the tensors ``vectors`` and ``ids``; ids that are strings as bytes and offsets."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import Extra
from parge.ids import STRING
from parge.io.embeddings.common import Vectors
from parge.io.exports.common import Export, as_dtype
from parge.io.outputs import replacing
from parge.memory import refuse_over_budget

NEEDS = Extra("safetensors", "safetensors", "vectors")


def write_safetensors(table: Vectors, path: Path, wanted: Export) -> None:
    """Write one file; the metadata says who wrote it, and how ids are stored."""
    from safetensors.numpy import save

    refuse_over_budget(3 * table.vectors.size * 4, f"{path} would hold {table.vectors.size:,} numbers")
    data = save({"vectors": as_dtype(table, wanted).vectors, **_ids(table)}, {"parge": json.dumps({"format": "1"})})
    with replacing(path) as file:
        file.write(data)


def _ids(table: Vectors) -> dict[str, Any]:
    if table.ids.dtype != STRING:
        return {"ids": np.ascontiguousarray(table.ids, np.int64)}
    encoded = [text.encode() for text in table.ids.tolist()]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {"ids_utf8": np.frombuffer(b"".join(encoded) or b"\0", np.uint8), "ids_offsets": offsets}


def is_safetensors(path: Path) -> bool:
    """Return whether a file has the mark of `write_safetensors` in its first bytes."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        found = json.loads(file.read(min(length, 1 << 20)))
    return "vectors" in found and "parge" in found.get("__metadata__", {})
