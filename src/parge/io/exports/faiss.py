"""``.faiss``: an index that `faiss.read_index` opens; exact for few rows, a graph of near rows (HNSW) for many."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import numpy as np

from parge.errors import Extra
from parge.io.embeddings.common import Vectors
from parge.io.exports.common import Export, blocks, index_keys
from parge.io.outputs import replacing

NEEDS = Extra("faiss", "faiss-cpu", "vectors")

# More rows than this are compared through a graph.
EXACT_UP_TO = 50_000


def write_faiss(table: Vectors, path: Path, wanted: Export) -> None:
    """Write an index by inner product; for the cosine its rows have length 1, and so must queries."""
    import faiss

    kind = "Flat" if len(table.vectors) <= EXACT_UP_TO else "HNSW32"
    stored = {"Flat": {"float16": "SQfp16"}, "HNSW32": {"float16": "HNSW32_SQfp16"}}[kind].get(wanted.dtype, kind)
    index = faiss.IndexIDMap2(faiss.index_factory(table.dim, stored, faiss.METRIC_INNER_PRODUCT))
    keys = index_keys(table, path)
    keys = np.arange(len(table.vectors)) if keys is None else keys
    if not index.is_trained:
        index.train(np.asarray(table.vectors[:256], np.float32))
    for rows, some in blocks(table, Export(), unit_rows=wanted.metric == "cosine"):
        index.add_with_ids(some, keys[rows])
    with TemporaryDirectory(prefix="parge-") as folder, replacing(path) as file:
        faiss.write_index(index, f"{folder}/index")
        copy_into(Path(folder) / "index", file)


def copy_into(source: Path, file: IO[bytes]) -> None:
    """Copy a file that a library wrote under a name of its own."""
    with source.open("rb") as written:
        shutil.copyfileobj(written, file)
