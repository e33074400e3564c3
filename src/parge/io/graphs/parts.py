"""Which files a graph is read from: one, or the parts in a folder or of a pattern."""

import glob
from pathlib import Path

from parge.errors import InputError
from parge.io.files import foreign_errors, format_suffix
from parge.io.names import is_hidden, is_pattern

# What parts in a folder may be called. Others are likely something else, so a pattern has to name them.
_SUFFIXES = {".parquet", ".csv", ".tsv", ".txt", ".edges", ".edgelist", ""}

# A graph of more files than this was not meant.
_MOST = 100_000


def part_files(path: Path) -> list[Path]:
    """Return the files of a graph, in the order of their names: the file itself, or its parts.

    In a folder these are all files, those of folders in it included. Names that begin with a dot or an underscore are
    left out: Spark and others keep accounts in such files. A name with wildcards that is itself a file is that file.
    """
    with foreign_errors(path, "file"):
        return _part_files(path)


def _part_files(path: Path) -> list[Path]:
    if path.is_dir():
        return _inside(path)
    if not is_pattern(path) or path.exists():
        return [path]
    found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207  a whole path
    files = [file for file in found if file.is_file()]
    if not files:
        raise InputError(f"{path} does not exist, and as a pattern it fits no file")
    return files


def _inside(folder: Path) -> list[Path]:
    """Return the parts in a folder; the first file that is none, or too many of them, end the search."""
    found: list[Path] = []
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if is_hidden(name) or not file.is_file():
            continue
        if format_suffix(file) not in _SUFFIXES or len(found) == _MOST:
            what = f"has over {_MOST:,} files" if len(found) == _MOST else f"holds {name}, which is no part of a graph"
            raise InputError(
                f"{folder} is a folder and {what}: parts are Parquet or text edge lists. Give a file, or a pattern, "
                f"such as '{folder}/*.parquet'."
            )
        found.append(file)
    if not found:
        raise InputError(f"{folder} is a folder without a file of edges. Give a file, or a folder of its parts.")
    return sorted(found)
