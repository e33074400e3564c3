"""Files into graphs: the format by the suffix; where a large graph goes; vertices and features from other files."""

import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.ids import STRING, as_numbers
from parge.io.archive import check_complete, declared_arrays
from parge.io.files import (
    COMPRESSIONS,
    check_file,
    foreign_errors,
    format_suffix,
    is_compressed,
    read_head,
    read_texts,
    without_comments,
)
from parge.io.footers import read_footer
from parge.memory import parse_bytes, private_bytes, refuse_over_budget
from parge.storage import MEMORY, Files, Storage, row_blocks, rows_at_once
from parge.typing import IdArray

# Reader of each format: module and function. Every other suffix is a text edge list.
_READERS = {
    ".parquet": ("parge.io.graphs.parquet", "read_parquet"),
    ".mtx": ("parge.io.graphs.market", "read_matrix_market"),
    ".npz": ("parge.io.graphs.matrix", "read_npz"),
    ".mat": ("parge.io.graphs.matlab", "read_mat"),
    ".graph": ("parge.io.graphs.metis", "read_metis"),
    ".graphml": ("parge.io.graphs.graphml", "read_graphml"),
}

# Read into files where memory does not hold the graph; the others are read whole.
_EXTERNAL = {".parquet"}

# Formats whose weights have a name, beside text.
_NAMED = {".parquet", ".graphml"}

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


def read(
    path: str | Path,
    *,
    vertices: int | str | Path | None = None,
    features: str | Path | None = None,
    weighted: bool = True,
    weight: str | None = None,
    coordinator_memory: int | str | None = None,
    scratch: Path | None = None,
) -> Graph:
    """Read a graph from a file.

    Parameters
    ----------
    path : path
        Edge list (whitespace, tab or comma; optional third column of weights; also ``.gz`` or ``.zst``), ``.parquet``,
        ``.mtx``, ``.npz``, ``.mat``, METIS ``.graph`` or ``.graphml``; docs/formats.md has the details.
    vertices : int or path, optional
        Extra (isolated) vertices: a count n, which means that the ids are 0..n-1 (any other id is an error), or a file
        with one id per line.
    features : path, optional
        Vertex features, row i for vertex i: ``.npz`` of scipy, or of numpy with one array, or ``.npy``.
    weighted : bool
        Whether to read weights; otherwise every edge has weight 1.
    weight : str, optional
        Column (its name, or its number from 1 in a text file without a header) or GraphML attribute that holds the
        weights; by default one called weight, or the third column.
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
    path = Path(path)
    known = _known_vertices(vertices)
    reader = _reader(path)
    external = _format(path) in _EXTERNAL or _format(path) not in _READERS
    in_files = {"storage": storage_for(path, coordinator_memory, scratch)} if external else {}
    graph = reader(path, weighted=weighted, **in_files, **_named_weight(path, weighted, weight))
    if known is not None:
        graph = _with_vertices(graph, known, path)
    elif graph.n_edges == 0:
        dropped = "".join(f" ({notice})" for notice in graph.notices)
        raise InputError(
            f"{path} has no edge between two vertices{dropped}. To read a graph without edges, give its vertices: "
            "their number, or a file with one id per line."
        )
    return graph if features is None else _with_features(graph, Path(features))


def _named_weight(path: Path, weighted: bool, weight: str | None) -> dict[str, str]:
    """Return the argument of a reader that can look for weights by a name."""
    if weight is None:
        return {}
    if not weighted:
        raise InputError(
            f"both the weights {weight!r} and no weights are asked for. Give only one of weight and unweighted."
        )
    suffix = _format(path)
    if suffix in _READERS and suffix not in _NAMED:
        raise InputError(f"{path}: the weights of {suffix} files have no name. Omit {weight!r}.")
    return {"weight": weight}


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


def _known_vertices(vertices: int | str | Path | None) -> Any:
    """Return the count, the ids of the file, or None."""
    if vertices is None:
        return None
    from parge.graph.vertices import check_vertex_count

    return read_vertices(Path(vertices)) if isinstance(vertices, str | Path) else check_vertex_count(vertices)


def _with_vertices(graph: Graph, known: Any, path: Path) -> Graph:
    from parge.graph.vertices import add_vertices

    if graph.n_vertices and graph.outside_ids.dtype != STRING and not isinstance(known, int) and known.dtype == STRING:
        wide = next((name for name in known.tolist() if set(name) & set(" \t,;")), None)
        if wide is not None:
            raise InputError(f"the vertices file must have one id per line; found {wide!r}, and {path} has integer ids")
    try:
        return add_vertices(graph, known)
    except InputError as error:
        raise InputError(f"{path}{_first_line_outside(graph, known, path)}: {error}") from None


def _first_line_outside(graph: Graph, n_vertices: int, path: Path) -> str:
    """Say in which line of a text edge list an id first stands that is not one of 0..n_vertices-1."""
    from parge.graph.vertices import outside
    from parge.io.graphs.text import first_line_with

    found = outside(graph, n_vertices)
    line = None if found is None or _format(path) in _READERS else first_line_with(path, str(found))
    return "" if line is None else f", line {line:,}"


def _with_features(graph: Graph, path: Path) -> Graph:
    check_file(path)
    with foreign_errors(path, "features (.npz of scipy or numpy, or .npy)"):
        matrix: Any
        if path.suffix.lower() == ".npz":
            matrix = _npz_matrix(path)
        elif path.suffix.lower() == ".npy":
            check_complete(path)
            matrix = np.load(path, allow_pickle=False, mmap_mode="r")
        else:
            raise InputError(f"{path}: features are read from .npz (scipy.sparse.save_npz, numpy.savez) or .npy")
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise InputError(
                f"{path}: features must be a matrix of numbers; found type {matrix.dtype}, shape {matrix.shape}"
            )
        if matrix.shape[0] != graph.n_vertices:
            raise InputError(
                f"{path} has {matrix.shape[0]:,} rows, but the graph has {graph.n_vertices:,} vertices. Give one row "
                "per vertex, in ascending order of ids (is --vertices missing?)."
            )
        found = graph.with_features(_sparse(path, matrix))
        if not np.isfinite(found.features.data).all():
            raise InputError(f"{path}: features must be finite; found NaN or infinity")
    return found


def _sparse(path: Path, matrix: Any) -> Any:
    """Return features as sparse rows; a dense matrix, which may be a map of a file, some rows at a time."""
    import scipy.sparse as sp

    refuse_over_budget(8 * matrix.shape[1], f"{path} has {matrix.shape[1]:,} features")
    if sp.issparse(matrix):
        return matrix
    blocks, n_entries = [], 0
    for rows in row_blocks(len(matrix), rows_at_once(max(1, matrix.shape[1]))):
        blocks.append(sp.csr_matrix(np.asarray(matrix[rows]).astype(np.float32)))
        n_entries += blocks[-1].nnz
        refuse_over_budget(3 * 8 * n_entries, f"{path} has at least {n_entries:,} nonzero features")
    return sp.vstack(blocks, format="csr") if blocks else sp.csr_matrix(matrix.shape, dtype=np.float32)


def _npz_matrix(path: Path) -> Any:
    """Return the sparse matrix that scipy saved, or the only array that numpy did."""
    import scipy.sparse as sp

    from parge.io.graphs.matrix import load_sparse

    members = declared_arrays(path)
    if "format" in members:
        matrix = sp.csr_matrix(load_sparse(path))
        matrix.check_format(full_check=True)
        return matrix
    if len(members) != 1:
        raise InputError(
            f"{path} holds {', '.join(sorted(members)) or 'nothing'}; save features as one numpy array, or as a scipy "
            "sparse matrix"
        )
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:  # numpy leaves a bad file open
        return np.asarray(arrays[next(iter(members))])


# Reading takes 34 bytes an edge at its peak (measured at 8.6 M and 34.5 M edges), 8 of which stay; KaMinPar then
# takes some 40 beside a copy without the anchors, and arrays over vertices, at 4 edges a vertex, 25 more.
_BYTES_AN_EDGE = 80

# What gzip and zstd make of a list of integers: 2.5 to 5 times smaller.
_UNPACKED = 5

# Text that is parsed together becomes some five times as much while it is; less than this at once is slow.
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 20, 1 << 25


def storage_for(path: Path, limit: int | str | None, folder: Path | None = None) -> Storage:
    """Return memory where the graph of this file fits under the limit with all that is done to it, else files.

    Parameters
    ----------
    limit : size
        Most private memory that this process may have, what it has already included; None is no limit.
    folder : path, optional
        Where files go; by default where the system has its temporary ones.
    """
    if limit is None:
        return MEMORY
    room = (parse_bytes(limit) if isinstance(limit, str) else limit) - private_bytes()
    if projected_edges(path) * _BYTES_AN_EDGE <= room:
        return MEMORY
    place = folder if folder is not None and folder.is_dir() else Path(tempfile.gettempdir())
    return Files(place, min(_LARGEST_BLOCK, max(_SMALLEST_BLOCK, room // 16)))


def projected_edges(path: Path) -> int:
    """Return about how many edges a file holds: by its own count if it is Parquet, else by the length of its lines."""
    if format_suffix(path) == ".parquet":
        return read_footer(path).n_rows
    head = read_head(path)
    size = path.stat().st_size * (_UNPACKED if is_compressed(path) else 1)
    return int(size * head.count(b"\n") / max(1, len(head)))


# Bytes of text read together.
_BLOCK = 1 << 20

# Measured at the peak for an id of a file: as a string, as an integer, and joined with those of the edges.
_ID_BYTES = 130


def read_vertices(path: Path) -> IdArray:
    """Read ids, one per line; lines that start with # or % are comments, blanks around an id are not part of it."""
    ids: list[IdArray] = []
    n_ids = n_text = 0
    for text in read_texts(path, _BLOCK, "one vertex id", clean=without_comments):
        names = [stripped for line in text.split("\n") if (stripped := line.strip(" \t\r"))]
        ids.append(np.array(names, STRING))
        n_ids, n_text = n_ids + len(names), n_text + len(text)
        refuse_over_budget(_ID_BYTES * n_ids + 4 * n_text, f"{path} names {n_ids:,} vertices or more")
    if not n_ids:
        raise InputError(f"{path} names no vertex. Write one id per line.")
    return as_numbers(np.concatenate(ids))
