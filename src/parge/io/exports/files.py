"""Exports by suffix: how each is written, what it needs, and which existing file may be replaced.

====================== ==============================================================================
``.npy .npz .parquet`` as embeddings are saved, in float32 or float16
``.safetensors``       tensors ``vectors`` and ``ids``
``.faiss``             an index of FAISS
``.usearch``           an index of usearch
``.lance``             a Lance data set (a folder)
``.hf``                a data set as Hugging Face lays it out (a folder)
====================== ==============================================================================
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from parge.errors import Extra, InputError
from parge.io.embeddings import files as embedding_files
from parge.io.embeddings.common import Vectors
from parge.io.embeddings.files import embedding_outputs, write
from parge.io.embeddings.npy import check_line_ids
from parge.io.exports import faiss, folders, safetensors, usearch
from parge.io.exports.common import Export, as_dtype, keys_path
from parge.io.outputs import Output, check_outputs, never_ours
from parge.io.places import delivered, delivery, is_url, shown_name
from parge.io.stores import Name
from parge.typing import IdArray

Writer = Callable[[Vectors, Path, Export], None]
"""Writes vectors in one format."""


@dataclass(frozen=True)
class Kind:
    """A format of exports."""

    write: Writer  # what writes it
    needs: Extra | None = None  # the package that it is written by
    is_ours: Callable[[Path], bool] = never_ours  # whether an existing file may be replaced without being asked
    is_folder: bool = False  # whether it is a folder, which is never replaced
    # Whether it is an index, to which the metric matters, and which may have a file of ids next to it.
    has_index: bool = False


def _saved(table: Vectors, path: Path, wanted: Export) -> None:
    write(as_dtype(table, wanted), path)


KINDS: dict[str, Kind] = {
    ".npy": Kind(_saved),
    ".npz": Kind(_saved),
    ".parquet": Kind(_saved),
    ".safetensors": Kind(safetensors.write_safetensors, safetensors.NEEDS, safetensors.is_safetensors),
    ".faiss": Kind(faiss.write_faiss, faiss.NEEDS, has_index=True),
    ".usearch": Kind(usearch.write_usearch, usearch.NEEDS, has_index=True),
    ".lance": Kind(folders.write_lance, folders.NEEDS_LANCE, is_folder=True),
    ".hf": Kind(folders.write_hub, folders.NEEDS_HUB, is_folder=True),
}
"""All formats by suffix."""


def kind_of(path: Path) -> Kind:
    """Return the format of a path; raise where there is none, or where its package is missing."""
    suffix = path.suffix.lower()
    if suffix not in KINDS:
        raise InputError(f"{shown_name(path)}: the suffix names no format to export to. Use one of {', '.join(KINDS)}.")
    kind = KINDS[suffix]
    if kind.needs is not None:
        kind.needs.check(f"a {suffix} file")
    return kind


def check_export(path: Path, inputs: list[Path | str], *, overwrite: bool, for_links: bool = False) -> Kind:
    """Return the format of an output if it can be written; called before any work."""
    kind = kind_of(path)
    queries = embedding_outputs(queries_path(path)) if for_links else []
    if for_links and delivery(path) is not None:
        raise InputError("--for links writes two files, which parge does not send. Write them here, then copy them.")
    if kind.is_folder:
        if delivery(path) is not None:
            raise _not_sent(path)
        folders.check_folder(path)
        check_outputs(queries, inputs, overwrite=overwrite)
    elif kind.needs is None:
        check_outputs([*embedding_outputs(path), *queries], inputs, overwrite=overwrite)
    else:
        key_files = [Output(keys_path(path))] if kind.has_index else []
        check_outputs([Output(path, kind.is_ours), *key_files, *queries], inputs, overwrite=overwrite)
    return kind


def queries_path(path: Path) -> Path:
    """Return the path of the vectors that ask, next to those that are searched for links.

    >>> queries_path(Path("runs/links.faiss")).name
    'links.queries.parquet'
    """
    return path.with_name(f"{path.stem}.queries.parquet")


def _not_sent(path: Path) -> InputError:
    return InputError(f"{path}: {path.suffix} is a folder, which parge does not send. Write it here, then copy it.")


def check_ids(path: Path, ids: IdArray, *, overwrite: bool) -> None:
    """Refuse ids that the format cannot hold, and, without `overwrite`, to replace the ids of another file."""
    kind = kind_of(path)
    if kind.has_index:
        check_line_ids(ids, path)
    elif kind.needs is None:
        embedding_files.check_ids(path, ids, overwrite=overwrite)


def export(table: Vectors, path: Name, wanted: Export) -> None:
    """Write vectors for other tools; the suffix names the format. An existing file is replaced, a folder never."""
    with delivered(path) as place:
        kind = kind_of(place)
        if kind.is_folder and is_url(path):
            raise _not_sent(place)
        kind.write(table, place, wanted)
