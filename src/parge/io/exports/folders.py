"""Exports that are folders: a Lance data set, and the layout of a data set on Hugging Face."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from parge.errors import Extra, InputError, PargeError, unwritable
from parge.ids import STRING
from parge.io.embeddings.common import Vectors
from parge.io.exports.common import DTYPES, Export, blocks

NEEDS_LANCE = Extra("lance", "pylance", "lance")
NEEDS_HUB = Extra("huggingface_hub", "huggingface_hub", "remote")

_ROWS_A_SHARD = 1_000_000


def check_folder(path: Path) -> None:
    """Refuse a folder that exists: whatever it holds would be lost, or mixed with what is written."""
    if path.exists() or path.is_symlink():
        raise InputError(f"{path} exists. A folder is never replaced: remove it first, or give another name.")
    if not path.parent.is_dir():
        raise InputError(f"Cannot write {path}: the folder {path.parent} does not exist. Create it first.")


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Yield a new folder that gets its name when it is complete, and vanishes if it never is."""
    check_folder(path)
    temporary = path.with_name(f".parge-{os.getpid()}-{uuid4().hex[:8]}.part")
    try:
        temporary.mkdir()
        yield temporary
        check_folder(path)
        temporary.rename(path)
    except OSError as error:
        raise PargeError(unwritable(path, error)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _schema(table: Vectors, wanted: Export) -> Any:
    import pyarrow as pa

    key = pa.string() if table.ids.dtype == STRING else pa.int64()
    number = pa.from_numpy_dtype(np.dtype(DTYPES[wanted.dtype]))
    return pa.schema([("id", key), ("vector", pa.list_(number, table.dim))])


def _batches(table: Vectors, wanted: Export, schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    for rows, some in blocks(table, wanted):
        vector = pa.FixedSizeListArray.from_arrays(pa.array(some.ravel()), table.dim)
        yield pa.record_batch([pa.array(table.ids[rows], schema.field("id").type), vector], schema=schema)


def write_lance(table: Vectors, path: Path, wanted: Export) -> None:
    """Write a Lance data set with the columns ``id`` and ``vector``, by batches; `lance.dataset` opens it."""
    import lance
    import pyarrow as pa

    schema = _schema(table, wanted)
    with appearing(path) as folder:
        reader = pa.RecordBatchReader.from_batches(schema, _batches(table, wanted, schema))
        lance.write_dataset(reader, str(folder / ".set"), schema=schema)
        for item in list((folder / ".set").iterdir()):
            item.rename(folder / item.name)
        (folder / ".set").rmdir()


def write_hub(table: Vectors, path: Path, wanted: Export) -> None:
    """Write what `datasets.load_dataset` reads and the hub shows: Parquet shards in ``data``, and a card."""
    from huggingface_hub import DatasetCard, DatasetCardData
    from pyarrow import parquet

    schema = _schema(table, wanted)
    n_shards = max(1, -(-len(table.vectors) // _ROWS_A_SHARD))
    with appearing(path) as folder:
        (folder / "data").mkdir()
        for shard in range(n_shards):
            rows = slice(shard * _ROWS_A_SHARD, (shard + 1) * _ROWS_A_SHARD)
            some = Vectors(table.vectors[rows], table.ids[rows])
            name = folder / "data" / f"train-{shard:05d}-of-{n_shards:05d}.parquet"
            with parquet.ParquetWriter(name, schema, use_dictionary=False, compression="none") as out:
                for batch in _batches(some, wanted, schema):
                    out.write_batch(batch)
        files = [{"split": "train", "path": "data/train-*"}]
        data = DatasetCardData(
            configs=[{"config_name": "default", "data_files": files}], tags=["graph-embedding"], pretty_name=path.stem
        )
        words = f"{len(table.vectors):,} vectors of {table.dim} numbers, one per vertex, in one space."
        card = DatasetCard(f"---\n{data.to_yaml()}\n---\n\n# {path.stem}\n\n{words} Written by parge.\n")
        (folder / "README.md").write_text(str(card), encoding="utf-8")
