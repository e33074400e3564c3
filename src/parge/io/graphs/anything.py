"""Anything that holds a graph, as a `Graph`: a file, a frame, another library's graph, a matrix, arrays of edges."""

from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from os import PathLike
from typing import Any

import scipy.sparse as sp

from parge.errors import InputError, UnknownNameError
from parge.graph.build import from_edges
from parge.graph.convert import from_igraph, from_networkx, from_pyg, from_scipy
from parge.graph.graph import Graph
from parge.io.graphs.read import read
from parge.numbers import is_real, shown
from parge.spelling import suggestion

# Options of the readers that say where work is done, not what is read: the plan decides them.
_NOT_HOW = {"coordinator_memory", "scratch"}


def as_graph(source: Any, /, **how: Any) -> Graph:
    """Return a graph from whatever holds one.

    Parameters
    ----------
    source : Graph, path, frame, graph of another library, matrix, or edges
        A `Graph` is returned as it is. A text or path is read (`parge.read`). Objects of networkx, igraph and PyG, and
        frames (pandas, Polars, Arrow, DuckDB: whatever exports an Arrow stream) are converted. A scipy matrix and a
        square array are adjacency matrices. An array or tensor of shape (2, m) is an ``edge_index``. One of shape
        (m, 2), a list of pairs, and a pair of arrays are edges. A list of (source, target, weight) has weights, too.
    **how
        What the reader of such a source takes, for example ``source=``, ``target=`` and ``weight=`` for columns.

    Examples
    --------
    >>> as_graph([("ann", "bob"), ("bob", "cid")])
    Graph(3 vertices, 2 edges)
    """
    return _call(reader_of(source), source, how)


def how_to_read(source: Any) -> tuple[str, ...]:
    """Return the names of the options that `as_graph` takes for this source."""
    reader = reader_of(source)
    return tuple(name for name in list(signature(reader).parameters)[1:] if name not in _NOT_HOW)


def _call(reader: Callable[..., Graph], source: Any, how: dict[str, Any]) -> Graph:
    known = list(signature(reader).parameters)[1:]
    for name in how:
        if name not in known:
            listed = f"It takes {', '.join(known)}." if known else "It takes none."
            raise UnknownNameError(
                f"a {_kind(source)} is read without the option {name!r}.{suggestion(name, known)} {listed}"
            )
    return reader(source, **how)


def _kind(source: Any) -> str:
    return "file" if isinstance(source, str | PathLike) else type(source).__name__


def reader_of(source: Any) -> Callable[..., Graph]:
    """Return the function that makes a graph of such a source; raise where nobody knows how."""
    for fits, reader in _READERS:
        if fits(source):
            return reader
    raise InputError(
        f"cannot read a graph from {_described(source)}. Give a file, a frame of edges, a networkx, igraph or PyG "
        f"graph, a square scipy matrix, or edges as (m, 2).{_cure(source)}"
    )


def _described(source: Any) -> str:
    """Return the kind of a source, with its shape, or with the first of its values that is no edge."""
    kind = type(source).__name__
    if hasattr(source, "shape"):
        return f"{kind} of shape {source.shape}"
    if not isinstance(source, list | tuple):
        return kind
    odd = next((item for item in source if not (isinstance(item, tuple | list) and len(item) == 2)), None)
    return f"{kind} with {shown(odd)} in it" if len(source) else f"empty {kind}"


def _cure(source: Any) -> str:
    """Return what to do with sources that nearly are edges."""
    shape = _shape(source)
    if isinstance(source, Iterator | set | frozenset | range):
        return " Make it a list first: list(edges)."
    if isinstance(source, Mapping):
        return " Of a dict of columns make a frame: pandas.DataFrame(columns)."
    if shape == (2, 2):
        names = "parge.Graph.from_edges, from_pyg or from_scipy"
        return f" Two rows of two may be edges, an edge_index or a matrix: use {names}."
    if len(shape) == 2 and shape[1] == 3:
        return " With weights in the third column: parge.Graph.from_edges(a[:, 0], a[:, 1], a[:, 2])."
    return ""


def _itself(graph: Graph) -> Graph:
    return graph


def _pairs(edges: Any, weights: Any = None, *, vertices: Any = None) -> Graph:
    """Build a graph of a list of pairs, or of an (m, 2) array."""
    try:
        return from_edges(edges, None, weights, vertices=vertices)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"edges must be pairs of ids, all of two; {error}") from error


def _triples(edges: Any, *, vertices: Any = None) -> Graph:
    """Build a graph of a list of (source, target, weight)."""
    source, target, weights = ([edge[place] for edge in edges] for place in range(3))
    return from_edges(source, target, weights, vertices=vertices)


def _ends(ends: tuple[Any, Any], weights: Any = None, *, vertices: Any = None) -> Graph:
    """Build a graph of two arrays, the ends of each edge."""
    return from_edges(ends[0], ends[1], weights, vertices=vertices)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | PathLike)


def _is_networkx(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("nodes", "edges", "is_directed", "adjacency"))


def _is_igraph(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("vcount", "get_edgelist", "es", "vs"))


def _is_frame(source: Any) -> bool:
    arrow = hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__")
    return arrow or type(source).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "duckdb")


def _shape(source: Any) -> tuple[int, ...]:
    return tuple(getattr(source, "shape", ()))


def _is_square(source: Any) -> bool:
    shape = _shape(source)
    return len(shape) == 2 and shape[0] == shape[1]


def _is_matrix(source: Any) -> bool:
    if sp.issparse(source):
        return True
    # Two rows of two integers are two edges, an edge_index, or a matrix: it cannot be known, and the message says so.
    return _is_square(source) and source.shape[0] != 2


def _is_index(source: Any) -> bool:
    shape = _shape(source)
    return getattr(source, "edge_index", None) is not None or (len(shape) == 2 and shape[0] == 2 != shape[1])


def _is_pairs(source: Any) -> bool:
    shape = _shape(source)
    listed = isinstance(source, list | tuple) and len(source) > 0
    pairs = listed and all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in source)
    return pairs or (len(shape) == 2 and shape[1] == 2 != shape[0])


def _is_triples(source: Any) -> bool:
    edges = (
        isinstance(source, list | tuple) and len(source) > 0 and all(isinstance(edge, tuple | list) for edge in source)
    )
    return edges and all(len(edge) == 3 and is_real(edge[2]) for edge in source)


def _is_ends(source: Any) -> bool:
    return isinstance(source, tuple | list) and len(source) == 2 and all(getattr(e, "ndim", 0) == 1 for e in source)


_READERS: tuple[tuple[Callable[[Any], bool], Callable[..., Graph]], ...] = (
    (lambda source: isinstance(source, Graph), _itself),
    (_is_path, read),
    (_is_networkx, from_networkx),
    (_is_igraph, from_igraph),
    (_is_frame, read),
    (_is_matrix, from_scipy),
    (_is_index, from_pyg),
    (_is_ends, _ends),
    (_is_pairs, _pairs),
    (_is_triples, _triples),
)
"""What reads which kind of object, tried in this order."""
