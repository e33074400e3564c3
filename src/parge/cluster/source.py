"""Source: the files of edges that shards read, each its share."""

from dataclasses import dataclass, replace
from pathlib import Path

from parge.columns import ALL_FOUND, Wanted
from parge.errors import InputError
from parge.io.files import check_file, format_suffix
from parge.io.graphs.read import part_files

# Formats that are one table or matrix, which nobody reads a share of.
_WHOLE = {".mtx", ".npz", ".npy", ".mat", ".graph", ".graphml", ".gml", ".gexf", ".json", ".zip", ".tar"}


@dataclass(frozen=True)
class Source:
    """Which edges: files, extra vertices, and how weights are read."""

    files: tuple[str, ...]  # Parquet files or text edge lists
    vertices: int | str | None = None  # a count n (the ids are 0..n-1), or a file with one id a line
    wanted: Wanted = ALL_FOUND  # which columns are read
    url: str | None = None  # where the files are fetched from first; then `files` are not known yet

    def absolute(self) -> "Source":
        """Return the same files by names that do not depend on the current folder: shards may have another.

        >>> Source(("/data/edges.txt",), 10).absolute().files
        ('/data/edges.txt',)
        """
        vertices = str(Path(self.vertices).absolute()) if isinstance(self.vertices, str) else self.vertices
        return replace(self, files=tuple(str(Path(file).absolute()) for file in self.files), vertices=vertices)


def is_parquet(name: str) -> bool:
    """Return whether a file is read as Parquet; all others are text."""
    return format_suffix(Path(name)) == ".parquet"


def edge_files(path: Path) -> tuple[str, ...]:
    """Return the files of a folder or a pattern, or the one file; names that begin with a dot or _ are left out."""
    files = part_files(path)
    for file in files:
        check_file(file)
        if format_suffix(file) in _WHOLE:
            raise InputError(
                f"{file}: shards read Parquet files and text edge lists. Convert it, or embed it without --sharded."
            )
    return tuple(map(str, files))
