"""``.usearch``: an index that `usearch.index.Index.restore` opens, also as a map of the file."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from parge.errors import Extra
from parge.io.embeddings.common import Vectors
from parge.io.exports.common import Export, blocks, index_keys
from parge.io.exports.faiss import copy_into
from parge.io.outputs import replacing

NEEDS = Extra("usearch", "usearch", "vectors")


def write_usearch(table: Vectors, path: Path, wanted: Export) -> None:
    """Write an index by the cosine or by the inner product."""
    from usearch.index import Index

    metric = {"cosine": "cos", "ip": "ip"}[wanted.metric]
    index = Index(ndim=table.dim, metric=metric, dtype={"float16": "f16", "float32": "f32"}[wanted.dtype])
    keys = index_keys(table, path)
    keys = np.arange(len(table.vectors)) if keys is None else keys
    for rows, some in blocks(table, Export()):
        index.add(keys[rows].astype(np.uint64), some, threads=1)  # one thread: the same graph every time
    with TemporaryDirectory(prefix="parge-") as folder, replacing(path) as file:
        index.save(f"{folder}/index")
        copy_into(Path(folder) / "index", file)
