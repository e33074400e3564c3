"""Embeddings as files: the suffix says the format, writing is atomic, nothing read is ever unpickled.

===================== ==============================================================================
``.npy``              the matrix alone, for numpy and for memory maps; ids next to it in ``x.ids.txt``
``.npz``              arrays ``vectors`` and ``ids``, and the report
``.parquet``          columns ``id`` and ``vector`` (a list of fixed size), and the report
``.vec .emb .txt``    word2vec text: a line ``n d``, then ``id x1 ... xd`` a line, float32
a folder              Parquet files and a manifest, as ``parge embed --sharded`` writes them, or a frozen space; only
                      read here
===================== ==============================================================================
"""

import os
from collections.abc import Callable
from pathlib import Path

from parge.errors import InputError, plain_reason
from parge.io.embeddings.common import Vectors
from parge.io.embeddings.folder import read_folder
from parge.io.embeddings.npy import check_line_ids, has_ids, ids_path, is_matrix, is_npy, read_npy, write_npy
from parge.io.embeddings.npz import is_npz, read_npz, write_npz
from parge.io.embeddings.parquet import is_parquet, read_parquet, write_parquet
from parge.io.embeddings.word2vec import check_text_ids, is_text, read_text, write_text
from parge.io.outputs import Output, check_outputs, check_place
from parge.io.places import delivered, fetched, is_url, local_name, shown_name
from parge.io.stores import without_options
from parge.typing import IdArray

_Reader = Callable[[Path], Vectors]
_Writer = Callable[[Vectors, Path], None]

_FORMATS: dict[str, tuple[_Reader, _Writer]] = {
    ".npy": (read_npy, write_npy),
    ".npz": (read_npz, write_npz),
    ".parquet": (read_parquet, write_parquet),
    ".vec": (read_text, write_text),
    ".emb": (read_text, write_text),
    ".txt": (read_text, write_text),
}

# Whether a file is one that the format's writer left.
_OURS: dict[str, Callable[[Path], bool]] = {
    ".npy": is_npy,
    ".npz": is_npz,
    ".parquet": is_parquet,
    ".vec": is_text,
    ".emb": is_text,
    ".txt": is_text,
}

# Formats that do not hold any id.
_IDS: dict[str, Callable[[IdArray, Path], None]] = {
    ".npy": check_line_ids,
    ".vec": check_text_ids,
    ".emb": check_text_ids,
    ".txt": check_text_ids,
}


def write(table: Vectors, path: str | os.PathLike[str]) -> None:
    """Write vectors in the format of the suffix; the old file stays whole until the new one is.

    An existing file is replaced, as `numpy.save` does; the command line refuses unless parge wrote it.
    """
    with delivered(path) as place:
        check_output(place)
        _FORMATS[place.suffix.lower()][1](table, place)


def read(path: str | os.PathLike[str]) -> Vectors:
    """Read vectors in the format of the suffix; those of a URL are fetched first."""
    name = local_name(path)
    if not is_url(name) and Path(name).is_dir():
        return _read(Path(name), read_folder)
    if not is_url(name) and not os.path.lexists(name):
        raise InputError(f"Cannot read the embedding {shown_name(name)}: there is no such file.")
    _known_suffix(Path(shown_name(name)))
    with fetched(name, companion=_second(name)) as place:
        return _read(place)


def _second(name: str) -> str | None:
    """Return the URL of the ids next to a matrix; of files the reader finds it itself."""
    path, options = without_options(str(name))
    return f"{path[: -len('.npy')]}.ids.txt{options}" if is_url(name) and path.lower().endswith(".npy") else None


def _read(path: Path, reader: _Reader | None = None) -> Vectors:
    reader = reader or _FORMATS[_known_suffix(path)][0]
    try:
        return reader(path)
    except InputError as error:
        raise error if str(path) in str(error) else InputError(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise InputError(f"Cannot read the embedding {path}: there is no such file.") from error
    except MemoryError as error:
        raise InputError(f"{path} declares more data than fits in memory. Save large embeddings as .npy.") from error
    except Exception as error:  # what numpy and arrow raise on damaged files is not documented by either
        raise InputError(f"{path} could not be read as {path.suffix}: {plain_reason(error)}") from error


def check_output(path: str | os.PathLike[str]) -> Path:
    """Return the path if an embedding can be written there; checked before any work."""
    path = Path(path)
    _known_suffix(path)
    check_place(path)
    return path


def embedding_outputs(path: Path) -> list[Output]:
    """Return the files that an embedding is written to, for `parge.io.outputs.check_outputs`."""
    suffix = _known_suffix(path)
    if suffix != ".npy":
        return [Output(path, _OURS[suffix])]
    # Ids without a matrix wait for `check_ids`: a run that was killed between the two files leaves them, and they
    # are recognised when the ids are known.
    return [Output(path, is_npy), Output(ids_path(path), lambda _ids: not path.exists() or is_matrix(path))]


def embedding_inputs(path: Path | str) -> list[Path | str]:
    """Return the files that an embedding is read from; a text is a URL."""
    if isinstance(path, str):
        return [path, *filter(None, [_second(path)])]
    return [path, ids_path(path)] if path.suffix.lower() == ".npy" else [path]


def check_ids(path: str | os.PathLike[str], ids: IdArray, *, overwrite: bool = True) -> None:
    """Refuse ids that the format of the path cannot hold, as soon as they are known.

    Without `overwrite`, also refuse to replace a file of other ids where those of a ``.npy`` file would be written.
    """
    path = Path(path)
    check = _IDS.get(_known_suffix(path))
    if check is not None:
        check(ids, path)
    if path.suffix.lower() == ".npy" and not path.exists():
        check_outputs([Output(ids_path(path), lambda ids_file: has_ids(ids_file, ids))], overwrite=overwrite)


def is_embedding_name(path: Path) -> bool:
    """Return whether the suffix names a format of embeddings."""
    return path.suffix.lower() in _FORMATS


def _known_suffix(path: Path) -> str:
    if not is_embedding_name(path):
        raise InputError(f"{shown_name(path)}: the suffix names no embedding format. Use one of {', '.join(_FORMATS)}.")
    return path.suffix.lower()
