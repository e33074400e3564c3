"""Graphs from and to other libraries' objects; no library is imported unless the object is its own or is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parge.errors import InputError, imported
from parge.graph.build import from_edges
from parge.graph.graph import Graph
from parge.graph.matrix import from_matrix
from parge.graph.pairs import edges_once
from parge.ids import STRING, repeated
from parge.numbers import check_whole, is_real, is_whole
from parge.show.text import count
from parge.typing import IdArray, IntArray, NeighbourArray

# The attribute that is looked for where nobody names one: graphs without it have no weights.
_USUAL = "weight"

_DIRECTED = "directed edges read as undirected"


def from_scipy(matrix: Any, *, ids: Any = None) -> Graph:
    """Build a graph from a square scipy matrix or array, or a dense array; see `Graph.from_scipy`."""
    if not hasattr(matrix, "dtype"):
        matrix = np.asarray(matrix)
    return from_matrix(matrix, ids=ids)


def from_networkx(graph: Any, *, weight: str | None = "weight") -> Graph:
    """Build a graph from a networkx graph; see `Graph.from_networkx`.

    Edges without the weight attribute weigh 1, with a notice; a name other than ``weight`` that no edge has is an
    error. Parallel edges of a multigraph add up.
    """
    vertices = _names(list(graph.nodes()))
    place = {name: number for number, name in enumerate(graph.nodes())}
    edges = list(graph.edges(data=weight if weight is not None else False))
    notices: tuple[str, ...] = ()
    if weight is not None and edges:
        notices = _weight_notices(weight, [edge[2] for edge in edges], lambda: _attributes(graph))
    source = np.fromiter((place[edge[0]] for edge in edges), np.int64, len(edges))
    target = np.fromiter((place[edge[1]] for edge in edges), np.int64, len(edges))
    weights = _weights([edge[2] for edge in edges]) if weight is not None else None
    return _named(vertices, source, target, weights, directed=graph.is_directed(), notices=notices)


def _attributes(graph: Any) -> dict[str, bool]:
    """Return the attributes of a networkx graph's edges, and whether they hold numbers."""
    found: dict[str, bool] = {}
    for *_, data in graph.edges(data=True):
        for name, value in data.items():
            found[str(name)] = found.get(str(name), False) or is_real(value)
    return found


def _weight_notices(weight: str, values: list[Any], attributes: Callable[[], dict[str, bool]]) -> tuple[str, ...]:
    """Refuse a requested attribute that no edge has; say what is not read, and how many edges have no weight."""
    n_missing = sum(value is None for value in values)
    if n_missing < len(values):
        return missing_notice(n_missing, weight)
    there = attributes()
    if weight != _USUAL:
        shown = ", ".join(map(repr, there)) or "none"
        raise InputError(f"no edge has the attribute {weight!r} to use as the weight; edge attributes are: {shown}")
    return unread_notice([name for name, numbers in there.items() if numbers])


def unread_notice(names: Sequence[str]) -> tuple[str, ...]:
    """Say which attributes of edges hold numbers and are not read, where no attribute is read as weights."""
    if not names:
        return ()
    shown = ", ".join(map(repr, names))
    return (
        f"edge attributes ignored: {shown}. The edges have no weights; to read one as weights, name it "
        "(weight=, --weight)",
    )


def missing_notice(n_edges: int, name: str) -> tuple[str, ...]:
    """Say how many edges have no weight where others have."""
    return (f"{count(n_edges, 'edge')} without the attribute {name!r}: given weight 1",) if n_edges else ()


def from_igraph(graph: Any, *, weight: str | None = "weight") -> Graph:
    """Build a graph from an igraph graph; see `Graph.from_igraph`."""
    n_vertices = graph.vcount()
    vertices = _names(graph.vs["name"]) if "name" in graph.vs.attributes() else np.arange(n_vertices)
    if repeated(vertices).size:
        raise InputError("some vertex names of the igraph graph are repeated. Give every vertex a different name.")
    edges = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    values = graph.es[weight] if weight in graph.es.attributes() else [None] * len(edges)
    notices: tuple[str, ...] = ()
    if weight is not None and len(edges):
        names = graph.es.attributes()
        notices = _weight_notices(weight, values, lambda: {name: any(map(is_real, graph.es[name])) for name in names})
    weights = _weights(values) if weight is not None else None
    return _named(vertices, edges[:, 0], edges[:, 1], weights, directed=graph.is_directed(), notices=notices)


def from_pyg(data: Any, num_nodes: int | None = None) -> Graph:
    """Build a graph from PyG data or an ``edge_index``; see `Graph.from_pyg`.

    Vertices are 0..num_nodes-1; `num_nodes` is that of the data, else one more than the largest end. An attribute
    ``edge_weight`` gives the weights, and ``x`` the features.
    """
    has_index = getattr(data, "edge_index", None) is not None
    index = _array(data.edge_index if has_index else data)
    if index.ndim != 2 or index.shape[0] != 2:
        raise InputError(f"an edge_index must have the shape (2, m); found {index.shape}")
    if index.dtype.kind not in "iu" and index.size:
        raise InputError(f"an edge_index must hold integers; found {index.dtype}")
    index = index.astype(np.int64, copy=False)
    if index.size and index.min() < 0:
        raise InputError(f"an edge_index must hold vertex numbers from 0; found {index.min()}")
    if num_nodes is None and has_index:
        num_nodes = getattr(data, "num_nodes", None)
    n_vertices = int(index.max(initial=-1)) + 1 if num_nodes is None else check_whole("num_nodes", num_nodes)
    weights = getattr(data, "edge_weight", None) if has_index else None
    found = from_edges(index[0], index[1], None if weights is None else _array(weights).ravel(), vertices=n_vertices)
    if _goes_one_way(index, found.n_edges):
        found = replace(found, notices=(_DIRECTED, *found.notices))
    found = _with_features(found, getattr(data, "x", None) if has_index else None)
    if weights is not None or not has_index or getattr(data, "edge_attr", None) is None:
        return found
    notice = "edge_attr ignored. Weights are read from edge_weight only; copy the weight column there."
    return replace(found, notices=(notice, *found.notices))


def _with_features(graph: Graph, features: Any) -> Graph:
    """Return the graph with the features of PyG data, one row per vertex; of data without any the graph itself."""
    if features is None:
        return graph
    matrix = _array(features)
    if matrix.ndim != 2 or matrix.shape[0] != graph.n_vertices or matrix.dtype.kind not in "biuf":
        raise InputError(
            f"x must be a matrix of numbers with {graph.n_vertices:,} rows, one per vertex; found {matrix.dtype} of "
            f"shape {matrix.shape}"
        )
    return graph.with_features(matrix)


def _goes_one_way(index: IntArray, n_edges: int) -> bool:
    """Return whether some edge of an ``edge_index`` has no reverse; self loops do not count."""
    source, target = index[:, index[0] != index[1]]
    return np.unique(source * (int(index.max(initial=0)) + 1) + target).size < 2 * n_edges


def from_frame(frame: Any, source: str | None = None, target: str | None = None, weight: str | None = None) -> Graph:
    """Build a graph from a frame of edges; see `Graph.from_frame`.

    Columns are those named, else those called source and target (or src and dst, from and to ...), else the first two.
    Weights are in the column named, else in the one called weight, else in the third, as in a file.
    """
    from parge.columns import Wanted
    from parge.frames import arrow_stream
    from parge.graph.table import from_stream

    wanted = Wanted(source, target, weight)
    with arrow_stream(frame, "edges") as reader:
        return from_stream(reader, wanted)


def to_networkx(graph: Graph) -> Any:
    """Return a networkx graph; see `Graph.to_networkx`."""
    networkx = imported("networkx", "this conversion")
    out = networkx.Graph()
    ids = graph.outside_ids
    out.add_nodes_from(ids.tolist())
    source, target, weights = edges_once(graph)
    ends = ids[source].tolist(), ids[target].tolist()
    if weights is None:
        out.add_edges_from(zip(*ends, strict=True))
    else:
        out.add_weighted_edges_from(zip(*ends, weights.tolist(), strict=True))
    return out


def to_igraph(graph: Graph) -> Any:
    """Return an igraph graph; see `Graph.to_igraph`."""
    igraph = imported("igraph", "this conversion")
    source, target, weights = edges_once(graph)
    out = igraph.Graph(n=graph.n_vertices, edges=np.stack([source, target], axis=1))
    out.vs["name"] = graph.outside_ids.tolist()
    if weights is not None:
        out.es["weight"] = weights.tolist()
    return out


def to_pyg(graph: Graph) -> IntArray:
    """Return an ``edge_index``; see `Graph.to_pyg`."""
    source = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    return np.stack([source, graph.indices.astype(np.int64)])


def to_frame(graph: Graph) -> Any:
    """Return an arrow table of edges; see `Graph.to_frame`."""
    import pyarrow as pa

    source, target, weights = edges_once(graph)
    columns = {"source": _column(graph, source), "target": _column(graph, target)}
    if weights is not None:
        columns["weight"] = pa.array(weights)
    return pa.table(columns)


def _column(graph: Graph, numbers: NeighbourArray) -> Any:
    """Return the ids of vertices as an arrow array."""
    import pyarrow as pa

    if graph.ids is None:
        return pa.array(numbers.astype(np.int64, copy=False))
    if graph.ids.dtype != STRING:
        return pa.array(graph.ids[numbers])
    return pa.array(graph.ids.tolist(), pa.large_string()).take(pa.array(numbers))


def _named(
    vertices: IdArray,
    source: IntArray,
    target: IntArray,
    weights: Any,
    *,
    directed: bool,
    notices: tuple[str, ...] = (),
) -> Graph:
    """Build the graph of edges between places in `vertices`."""
    found = from_edges(vertices[source], vertices[target], weights, vertices=vertices)
    if directed:
        notices = (f"{source.size:,} {_DIRECTED}", *notices)
    return replace(found, notices=(*notices, *found.notices))


def _names(names: list[Any]) -> IdArray:
    """Return the names of vertices as ids: all integers, or all strings."""
    if all(map(is_whole, names)):
        small = all(-(2**63) <= name < 2**63 for name in names)
        return np.array(names, np.int64) if small else np.array([str(name) for name in names], STRING)
    others = [name for name in names if not isinstance(name, str)]
    if others:
        raise InputError(
            f"vertex names must be all integers or all strings; found {others[0]!r} ({type(others[0]).__name__}). "
            "Relabel the vertices, for example with networkx.convert_node_labels_to_integers."
        )
    return np.array(names, STRING)


def _weights(values: list[Any]) -> Any:
    """Return the weights, 1 where an edge has none; None where no edge has one."""
    if all(value is None for value in values):
        return None
    wrong = next((value for value in values if value is not None and not is_real(value)), None)
    if wrong is not None:
        raise InputError(f"weights must be numbers; found {wrong!r}. Pass weight=None to ignore them.")
    return np.array([1.0 if value is None else float(value) for value in values])


def _array(values: Any) -> Any:
    """Return a tensor of any library, on any device, as a numpy array."""
    for step in ("detach", "cpu", "numpy"):
        if not isinstance(values, np.ndarray) and hasattr(values, step):
            values = getattr(values, step)()
    return np.asarray(values)
