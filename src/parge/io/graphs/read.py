"""Files into graphs: the format by the suffix; where a large graph goes; vertices and features from other files."""

import glob
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from parge.columns import Wanted
from parge.errors import InputError
from parge.frames import arrow_stream, is_frame
from parge.graph.graph import Graph
from parge.ids import STRING, as_ids
from parge.io.files import COMPRESSIONS, check_file, foreign_errors, format_suffix, is_compressed, read_head
from parge.io.places import fetched
from parge.io.stores import is_hidden, is_pattern
from parge.memory import parse_bytes, private_bytes
from parge.numbers import shown
from parge.spelling import naming_slips
from parge.storage import MEMORY, Files, Storage

# Reader of each format: module and function. Every other suffix is a text edge list.
_READERS = {
    ".parquet": ("parge.io.graphs.parquet", "read_parquet"),
    ".mtx": ("parge.io.graphs.market", "read_matrix_market"),
    ".npz": ("parge.io.graphs.matrix", "read_npz"),
    ".mat": ("parge.io.graphs.matlab", "read_mat"),
    ".graph": ("parge.io.graphs.metis", "read_metis"),
    ".graphml": ("parge.io.graphs.graphml", "read_graphml"),
}

# Formats with columns, besides text; read into files where memory does not hold the graph. The others are read whole.
_EXTERNAL = {".parquet"}

# Formats whose weights have a name, besides those with columns.
_NAMED = {".graphml"}

# What parts in a folder may be called. Others are likely something else, so a pattern has to name them.
_PART_SUFFIXES = {".parquet", ".csv", ".tsv", ".txt", ".edges", ".edgelist", ""}

# A graph of more files than this was not meant.
_MOST_PARTS = 100_000

# Read in place, so that they cannot be compressed once more.
_SEEKABLE = {".parquet", ".npz", ".mat"}

# Known files that are no graph to us; as text they would fail with a stranger message.
_OTHERS = {
    ".gml",
    ".gexf",
    ".json",
    ".pkl",
    ".pickle",
    ".gpickle",
    ".h5",
    ".hdf5",
    ".xlsx",
    ".zip",
    ".tar",
    ".7z",
    ".pt",
}


@naming_slips
def read(
    path: Any,
    *,
    vertices: Any = None,
    features: Any = None,
    weighted: bool = True,
    weight: str | None = None,
    source: str | None = None,
    target: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    coordinator_memory: int | str | None = None,
    scratch: Path | None = None,
) -> Graph:
    """Read a graph from a file, from a folder of parts, from a store, or from the table of another library.

    Parameters
    ----------
    path : path, URL or frame
        Edge list (whitespace, tab or comma; optional third column of weights; also ``.gz`` or ``.zst``), ``.parquet``,
        ``.mtx``, ``.npz``, ``.mat``, METIS ``.graph`` or ``.graphml``. See docs/reference/formats.md. A folder or a
        pattern (``edges/*.csv``) of text or Parquet parts is one graph. URLs (``s3://``, ``gs://``, ``hf://``,
        ``https://``, ``file://``) are fetched. Anything with ``__arrow_c_stream__`` (DuckDB, Polars, pandas, pyarrow)
        is read one batch at a time.
    vertices : int, path, URL, frame or ids, optional
        Extra (isolated) vertices: a count n, a file with one id per line, or a frame or list of ids. With a count, the
        ids are 0..n-1, and any other id is an error.
    features : path, URL or frame, optional
        Vertex features. Row i is for vertex i in ``.npy``, and in ``.npz`` of scipy, or of numpy with one array. In
        ``.parquet`` and in a frame, rows go by the column ``id``; the others hold numbers, or one holds lists of
        numbers.
    weighted : bool
        Whether to read weights; otherwise every edge has weight 1.
    weight : str, optional
        Column (its name, or its number from 1) or GraphML attribute of the weights. By default one called weight, or
        the third column.
    source, target : str, optional
        Columns of the two ends, likewise. By default those called so (or src and dst, from and to, ...), or the first
        two. For text and Parquet.
    delimiter : str, optional
        What separates the columns of a text file: one character, or ``tab``, ``comma``, ``semicolon``, ``pipe``,
        ``space``. By default detected from its first lines.
    header : bool, optional
        Whether the first line of a text file names the columns; by default judged by its words.
    coordinator_memory : size, optional
        Memory limit of this process, such as ``"2GB"``. A larger graph (an edge list or Parquet) is processed on disk:
        its rows are sorted in files and memory-mapped.
    scratch : path, optional
        Folder for these temporary files, which are removed with the graph; by default the system's temporary folder.

    Returns
    -------
    Graph
        An undirected graph; `Graph.notices` lists what was changed while reading.
    """
    is_name = isinstance(path, str | os.PathLike)
    if not is_name and not is_frame(path):
        raise InputError(f"expected a path, a URL or a frame; got {type(path).__name__}. parge.as_graph takes others.")
    if isinstance(path, str) and not path:
        raise InputError("expected the name of a file; got an empty name")  # not the current folder
    if isinstance(path, str) and "\n" in path:
        raise InputError(f"expected the name of a file; got lines of text, {shown(path)}. Write them to a file first.")
    wanted = Wanted(source, target, weight, weighted, delimiter, header)
    known = _known_vertices(vertices)
    is_empty = False
    if not is_name:
        graph, path = _of_frame(path, wanted, known), "the frame"
    else:
        with fetched(path) as place:
            files = part_files(place)
            graph = _read_edges(files, wanted, coordinator_memory, scratch)
            is_empty = graph.n_edges == 0 and all(file.is_file() and not file.stat().st_size for file in files)
            graph = graph if known is None else _with_vertices(graph, known, place, files)
    if known is None and graph.n_edges == 0:
        dropped = "".join(f" ({notice})" for notice in graph.notices)
        what = "is empty" if is_empty else "has no edge between two vertices"
        raise InputError(
            f"{path} {what}{dropped}. To read a graph without edges, give its vertices with --vertices (vertices= in "
            "Python): their number, or a file with one id per line."
        )
    if features is None:
        return graph
    from parge.io.graphs.vertex_data import with_features

    return with_features(graph, features)


def _of_frame(frame: Any, wanted: Wanted, known: Any) -> Graph:
    from parge.graph.table import from_stream
    from parge.graph.vertices import add_vertices

    if wanted.of_text:
        raise InputError(f"{' and '.join(wanted.of_text)} cannot be used with a frame. Omit it.")
    with arrow_stream(frame, "edges") as reader:
        graph = from_stream(reader, wanted)
    return graph if known is None else add_vertices(graph, known)


def _read_edges(files: list[Path], wanted: Wanted, coordinator_memory: int | str | None, scratch: Path | None) -> Graph:
    """Read the edges of one file, or of parts, by the reader of their format, which is given what it can use."""
    path = files[0]
    reader, suffix = _reader(path), _format(path)
    for other in files[1:]:
        if _format(other) != suffix and {_format(other), suffix} & {*_READERS}:
            raise InputError(
                f"the parts in a folder or of a pattern need one format, but those of {path} and {other} differ. "
                "Give a pattern, such as '*.parquet'."
            )
    if suffix in _READERS and suffix not in _EXTERNAL:
        if len(files) > 1:
            raise InputError(f"{path.parent}: {suffix} files are no parts of one graph. Give one of them.")
        _refuse_idle(path, suffix, wanted)
        return reader(path, wanted) if suffix in _NAMED else reader(path, weighted=wanted.weighted)
    if suffix in _READERS and wanted.of_text:
        raise _idle(path, suffix, wanted.of_text)
    return reader(files, wanted, storage=storage_for(files, coordinator_memory, scratch))


def _refuse_idle(path: Path, suffix: str, wanted: Wanted) -> None:
    """Refuse what is asked of a format that has no columns: it would have no effect."""
    given = [name for name in ("source", "target", "weight") if getattr(wanted, name) is not None]
    idle = [name for name in given if name != "weight" or suffix not in _NAMED] + wanted.of_text
    if idle:
        raise _idle(path, suffix, idle)


def _idle(path: Path, suffix: str, names: list[str]) -> InputError:
    options = " and ".join(f"--{name} ({name}=)" for name in names)
    return InputError(f"{path}: {options} cannot be used with {suffix} files, which have none. Omit {options}.")


def _reader(path: Path) -> Callable[..., Graph]:
    check_file(path)
    suffix = _format(path)
    if suffix in _OTHERS:
        formats = ", ".join(_READERS)
        raise InputError(
            f"{path}: {suffix} files are not supported. Convert it to an edge list, or to one of {formats}."
        )
    if suffix in _SEEKABLE and path.suffix.lower() in COMPRESSIONS:
        raise InputError(f"{path}: {suffix} files already have their own compression. Decompress it first.")
    module, name = _READERS.get(suffix, ("parge.io.graphs.text", "read_edge_list"))
    reader: Callable[..., Graph] = getattr(import_module(module), name)
    return reader


def _format(path: Path) -> str:
    """Return the suffix of the format; Matrix Market is known by its first line, too."""
    suffix = format_suffix(path)
    if suffix in _READERS or suffix in _OTHERS:
        return suffix
    with path.open("rb") as file:
        return ".mtx" if file.read(14) == b"%%MatrixMarket" else suffix


def _known_vertices(vertices: Any) -> Any:
    """Return the count, the ids of the file or frame, or None."""
    if vertices is None:
        return None
    from parge.graph.vertices import check_vertex_count
    from parge.io.graphs.vertex_data import ids_of_frame, read_vertices

    if isinstance(vertices, str | os.PathLike):
        with fetched(vertices) as path:
            return read_vertices(path)
    if is_frame(vertices):
        return ids_of_frame(vertices)
    if isinstance(vertices, Sequence | np.ndarray) and not isinstance(vertices, bytes) and np.ndim(vertices) == 1:
        return as_ids(vertices)
    return check_vertex_count(vertices)


def _with_vertices(graph: Graph, known: Any, path: Path, files: list[Path]) -> Graph:
    from parge.graph.vertices import add_vertices

    if graph.n_vertices and graph.outside_ids.dtype != STRING and not isinstance(known, int) and known.dtype == STRING:
        wide = next((name for name in known.tolist() if set(name) & set(" \t,;")), None)
        if wide is not None:
            raise InputError(f"the vertices file must have one id per line; found {wide!r}, and {path} has integer ids")
    try:
        return add_vertices(graph, known)
    except InputError as error:
        raise InputError(f"{path}{_first_line_outside(graph, known, files)}: {error}") from None


def _first_line_outside(graph: Graph, n_vertices: int, files: list[Path]) -> str:
    """Say in which line of a text edge list an id first stands that is not one of 0..n_vertices-1."""
    from parge.graph.vertices import outside
    from parge.io.graphs.text import first_line_with

    found = outside(graph, n_vertices)
    for path in files if found is not None and _format(files[0]) not in _READERS else ():
        line = first_line_with(path, str(found))
        if line is not None:
            return f", line {line:,}" if len(files) == 1 else f", {path.name}, line {line:,}"
    return ""


# Reading takes 34 bytes per edge at its peak (measured at 8.6 M and 34.5 M edges), 8 of which stay; KaMinPar then
# takes some 40 besides a copy without the anchors, and arrays over vertices, at 4 edges per vertex, 25 more.
_BYTES_AN_EDGE = 80

# What gzip and zstd make of a list of integers: 2.5 to 5 times smaller.
_UNPACKED = 5

# Text that is parsed together becomes some five times as much while it is; less than this at once is slow.
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 20, 1 << 25


def storage_for(paths: Sequence[Path], limit: int | str | None, folder: Path | None = None) -> Storage:
    """Return memory where the graph of these files fits under the limit with all that is done to it, else files.

    Parameters
    ----------
    limit : size
        Most private memory that this process may have, what it has already included; None is no limit.
    folder : path, optional
        Where files go; by default where the system has its temporary ones.
    """
    if limit is None:
        return MEMORY
    free = (parse_bytes(limit) if isinstance(limit, str) else limit) - private_bytes()
    if sum(map(projected_edges, paths)) * _BYTES_AN_EDGE <= free:
        return MEMORY
    place = folder if folder is not None and folder.is_dir() else Path(tempfile.gettempdir())
    return Files(place, min(_LARGEST_BLOCK, max(_SMALLEST_BLOCK, free // 16)))


def projected_edges(path: Path) -> int:
    """Return about how many edges a file holds: by its own count if it is Parquet, else by the length of its lines."""
    if format_suffix(path) == ".parquet":
        from parge.io.footers import read_footer

        return read_footer(path).n_rows
    head = read_head(path)
    size = path.stat().st_size * (_UNPACKED if is_compressed(path) else 1)
    return int(size * head.count(b"\n") / max(1, len(head)))


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
    if path.exists() or not is_pattern(path):
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
        if format_suffix(file) not in _PART_SUFFIXES or len(found) == _MOST_PARTS:
            what = (
                f"has over {_MOST_PARTS:,} files"
                if len(found) == _MOST_PARTS
                else f"holds {name}, which is no part of a graph"
            )
            raise InputError(
                f"{folder} is a folder and {what}: parts are Parquet or text edge lists. Give a file, or a pattern, "
                f"such as '{folder}/*.parquet'."
            )
        found.append(file)
    if not found:
        raise InputError(f"{folder} is a folder without a file of edges. Give a file, or a folder of its parts.")
    return sorted(found)
