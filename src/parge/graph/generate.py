"""Graphs whose truth is known: planted communities, hierarchies and plain shapes, for tests, docs and benchmarks."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError
from parge.graph.build import assemble
from parge.graph.graph import Graph
from parge.graph.memberships import Memberships
from parge.graph.pairs import PairSource, distinct, edges_once, pair_keys
from parge.memory import REMEDY, refuse_over_budget
from parge.numbers import MOST, check_number, check_whole
from parge.seeds import keyed_rng
from parge.typing import IntArray

# Measured at the peak: what making, sorting and writing a graph takes for a vertex, an edge and a label.
_VERTEX_BYTES, _EDGE_BYTES, _LABEL_BYTES = 100, 75, 60

# The exponent of a power law from which on all degrees are the same.
MOST_EXPONENT = 1000


@dataclass(frozen=True, eq=False)
class Planted:
    """A graph and the labels that its edges were drawn from."""

    graph: Graph
    labels: Memberships


def planted(
    n_vertices: int,
    n_edges: int,
    *,
    communities: int | None = None,
    mixing: float = 0.3,
    exponent: float = 2.5,
    labels_per_vertex: float = 1.0,
    seed: int = 0,
) -> Planted:
    """Return a graph of planted communities with power-law degrees, labelled by community.

    A degree-corrected block model with exact counts: `n_edges` distinct edges, of which a share `mixing` joins vertices
    that have no community in common. Both ends of an edge are drawn in proportion to their expected degrees, the second
    one from a community of the first. Where communities have no room for their edges, the missing ones are drawn from
    the whole graph.

    Parameters
    ----------
    n_vertices, n_edges : int
        Size of the graph. Vertices may stay isolated where the mean degree is small.
    communities : int, optional
        Number of communities, about ``sqrt(n_vertices) / 2`` unless given; the i-th largest has a size in
        proportion to ``i ** -0.5``. With one community nothing can leave it, and `mixing` is not used.
    mixing : float
        Share of edges between communities, 0 to 1.
    exponent : float
        Exponent of the expected degrees' power law, above 2. Hubs have at most a third of the vertices and at most
        ``4 * sqrt(2 * n_edges)`` as neighbours, as in social graphs.
    labels_per_vertex : float
        Mean number of communities of a vertex, 1 (disjoint) to half their number.

    Examples
    --------
    >>> graph, labels = (made := planted(1000, 5000, communities=8, seed=1)).graph, made.labels
    >>> graph.n_vertices, graph.n_edges, labels.n_labels
    (1000, 5000, 8)
    """
    check_size(n_vertices, n_edges)
    n_communities = max(1, round(math.sqrt(n_vertices) / 2)) if communities is None else communities
    check_whole("communities", n_communities, 1, max(1, n_vertices))
    check_number("mixing", mixing, 0, 1)
    check_number("labels_per_vertex", labels_per_vertex, 1, max(1, n_communities / 2))
    check_number("exponent", exponent, 2, MOST_EXPONENT, above=True)  # degrees have no mean at 2 and below
    check_size(n_vertices, n_edges, n_vertices * labels_per_vertex)
    rng = keyed_rng(seed, "planted")
    labels = _memberships(n_vertices, n_communities, labels_per_vertex, rng)
    source = PairSource(labels.to_scipy(), _power_law(n_vertices, n_edges, exponent, rng), rng)
    n_across = round(mixing * n_edges) if n_communities > 1 else 0
    return Planted(_graph(source.pairs(n_edges - n_across, n_across), n_vertices), labels)


def tree(
    n_vertices: int,
    *,
    branching: float = 3.0,
    extra_edges: float = 0.5,
    depth: int = 3,
    mixing: float = 0.3,
    noise: float = 0.1,
    seed: int = 0,
) -> Planted:
    """Return a sparse labelled hierarchy, such as a taxonomy: a random tree with few cycles.

    Labels are classes: the subtree, rooted at `depth`, that a vertex is in; vertices above it have none.

    Parameters
    ----------
    branching : float
        Mean number of children of a vertex that has any, at least 1; this gives about ``branching ** depth`` classes.
    extra_edges : float
        Extra edges, as a share of the tree's edges; the mean degree is about ``2 * (1 + extra_edges)``.
    depth : int
        Depth of the roots of the classes.
    mixing : float
        Share of extra edges between classes, 0 to 1.
    noise : float
        Share of the labelled vertices whose label is drawn at random instead, 0 to 1.

    Examples
    --------
    >>> made = tree(1000, extra_edges=0.5, seed=1)
    >>> made.graph.n_edges
    1499
    """
    check_size(n_vertices)
    check_number("extra_edges", extra_edges, 0, MOST)
    n_extra = round(extra_edges * max(0, n_vertices - 1))
    check_size(n_vertices, max(0, n_vertices - 1) + n_extra)
    check_number("branching", branching, 1)
    check_whole("depth", depth)
    check_number("mixing", mixing, 0, 1)
    check_number("noise", noise, 0, 1)
    rng = keyed_rng(seed, "tree")
    name = rng.permutation(n_vertices)
    parent = _parents(n_vertices, branching, rng)
    root = _ancestors(parent, depth)
    vertices = np.flatnonzero(root >= 0)
    roots, number = np.unique(root[vertices], return_inverse=True)
    classes = Memberships.from_keys(np.sort(name[vertices] * roots.size + number), n_vertices, roots.size)
    branches = np.sort(pair_keys(name[1:], name[parent[1:]], n_vertices))
    source = PairSource(classes.to_scipy(), np.ones(n_vertices), rng)
    n_across = round(mixing * n_extra) if roots.size > 1 else 0
    keys = source.pairs(n_extra - n_across, n_across, branches)
    return Planted(_graph(keys, n_vertices), _with_noise(classes, noise, rng))


def ring_of_cliques(n_cliques: int, size: int) -> Graph:
    """Return `n_cliques` cliques in a ring; vertex v is in clique ``v // size``.

    >>> ring_of_cliques(4, 5).n_edges
    44
    """
    check_size(n_cliques)
    check_whole("size", size, 1)
    # Two cliques are tied once, and one clique has nothing to be tied to.
    n_ties = n_cliques if n_cliques > 2 else max(0, n_cliques - 1)
    check_size(n_cliques * size, n_cliques * (size * (size - 1) // 2) + n_ties)
    u, v = np.triu_indices(size, 1)
    first = np.arange(n_cliques) * size
    source = np.concatenate([(first[:, None] + u).ravel(), first[:n_ties] + size - 1])
    target = np.concatenate([(first[:, None] + v).ravel(), np.roll(first, -1)[:n_ties]])
    return _graph(pair_keys(source, target, n_cliques * size), n_cliques * size)


def grid(rows: int, columns: int) -> Graph:
    """Return a grid; the vertex in row i and column j is ``i * columns + j``.

    >>> grid(3, 4).n_edges
    17
    """
    check_size(rows)
    check_size(columns)
    check_size(rows * columns, max(0, rows * (columns - 1)) + max(0, columns * (rows - 1)))
    vertex = np.arange(rows * columns).reshape(rows, columns)
    source = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1].ravel()])
    target = np.concatenate([vertex[:, 1:].ravel(), vertex[1:].ravel()])
    return _graph(pair_keys(source, target, rows * columns), rows * columns)


def star(n_vertices: int) -> Graph:
    """Return a star: vertex 0 neighbours all others.

    >>> star(5).degrees.tolist()
    [4, 1, 1, 1, 1]
    """
    check_size(n_vertices)
    check_size(n_vertices, max(0, n_vertices - 1))
    return _graph(np.arange(1, n_vertices), n_vertices)


def path(n_vertices: int) -> Graph:
    """Return a path from vertex 0 to the last.

    >>> path(4).degrees.tolist()
    [1, 2, 2, 1]
    """
    check_size(n_vertices)
    check_size(n_vertices, max(0, n_vertices - 1))
    vertex = np.arange(n_vertices)
    return _graph(pair_keys(vertex[:-1], vertex[1:], n_vertices), n_vertices)


def disconnected(n_vertices: int, *, isolated: float = 0.1, seed: int = 0) -> Graph:
    """Return a graph of many uneven components, all shapes of this module, and isolated vertices.

    At least a share `isolated` of the vertices has no edges.

    >>> graph = disconnected(500, isolated=0.1, seed=1)
    >>> graph.n_vertices, int((graph.degrees == 0).sum()) >= 50
    (500, True)
    """
    check_size(n_vertices)
    check_size(n_vertices, min(3 * n_vertices, n_vertices * (n_vertices - 1) // 2))
    check_number("isolated", isolated, 0, 1)
    rng = keyed_rng(seed, "disconnected")
    left = n_vertices - math.ceil(isolated * n_vertices)
    size = math.ceil(left / 2)
    pieces: list[Graph] = []
    while left:
        shape = _SHAPES[len(pieces) % len(_SHAPES)]
        pieces.append(shape(size, int(rng.integers(2**31))))
        left -= pieces[-1].n_vertices
        # Small components are many, as in real graphs: sizes even on a logarithmic scale.
        size = min(left, int(max(2, n_vertices / 8) ** rng.random()))
    return _side_by_side(pieces, rng.permutation(n_vertices))


def check_size(n_vertices: int, n_edges: int = 0, n_labels: float = 0) -> None:
    """Raise `InputError` for an impossible graph, or one that needs more memory than the budget, before allocating."""
    check_whole("the number of vertices", n_vertices)
    check_whole(
        "the number of edges", n_edges, most=max(MOST, n_vertices**2)
    )  # a shape may have more than is asked for
    most = n_vertices * (n_vertices - 1) // 2
    if n_edges > most:
        raise InputError(f"{n_edges:,} edges are requested, but {n_vertices:,} vertices have at most {most:,}")
    refuse_over_budget(
        _VERTEX_BYTES * n_vertices + _EDGE_BYTES * n_edges + _LABEL_BYTES * n_labels,
        f"a graph of {n_vertices:,} vertices{f' and {n_edges:,} edges' if n_edges else ''} is requested",
        f"request a smaller one, {REMEDY}",
    )


def _side_by_side(pieces: list[Graph], name: IntArray) -> Graph:
    """Return the disjoint union of graphs, vertex after vertex as `name` says; names left over are isolated."""
    keys = [np.empty(0, np.int64)]
    first = 0
    for piece in pieces:
        source, target, _ = edges_once(piece)
        keys.append(pair_keys(name[first:][source], name[first:][target], name.size))
        first += piece.n_vertices
    return _graph(np.concatenate(keys), name.size)


def _graph(keys: IntArray, n_vertices: int) -> Graph:
    # Half the memory of divmod: the ends are cut to 32 bits one after the other.
    dtype = np.int32 if n_vertices < 2**31 else np.int64
    source = (keys // max(1, n_vertices)).astype(dtype)
    target = (keys - source.astype(np.int64) * n_vertices).astype(dtype)
    return assemble(source, target, n_vertices=n_vertices)


def _memberships(n_vertices: int, n_communities: int, per_vertex: float, rng: np.random.Generator) -> Memberships:
    """Give every vertex a community, then the rest of the ``per_vertex * n_vertices`` memberships at random."""
    share = np.cumsum(np.arange(1, n_communities + 1) ** -0.5)
    ends = np.round(share / share[-1] * max(0, n_vertices - n_communities)).astype(np.int64)
    sizes = np.diff(ends, prepend=0) + 1  # no community is empty
    home = np.repeat(np.arange(n_communities), sizes)[:n_vertices]
    rng.shuffle(home)
    keys = np.arange(n_vertices) * n_communities + home
    wanted = round(per_vertex * n_vertices)

    def by_size(count: int) -> IntArray:
        return rng.integers(n_vertices, size=count) * n_communities + home[rng.integers(n_vertices, size=count)]

    def anywhere(count: int) -> IntArray:
        return rng.integers(n_vertices * n_communities, size=count)

    keys = distinct(anywhere, wanted, rng, distinct(by_size, wanted, rng, keys))
    return Memberships.from_keys(keys, n_vertices, n_communities)


def _power_law(n_vertices: int, n_edges: int, exponent: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return expected degrees up to a common factor, (n_vertices,) float64."""
    degrees = (1 - rng.random(n_vertices)) ** (-1 / (exponent - 1))
    scale = 2 * n_edges / max(1.0, degrees.sum())
    largest = min(n_vertices / 3, 4 * math.sqrt(2 * n_edges))
    return np.minimum(degrees, max(1.0, largest / scale)) if scale else degrees


def _parents(n_vertices: int, branching: float, rng: np.random.Generator) -> IntArray:
    """Return an earlier vertex for every one but the root, near ``v / branching``: depth grows as its logarithm."""
    vertex = np.arange(n_vertices)
    near = (vertex / branching * (0.5 + rng.random(n_vertices))).astype(np.int64)
    return np.maximum(0, np.minimum(near, vertex - 1))


def _ancestors(parent: IntArray, depth: int) -> IntArray:
    """Return the ancestor at `depth` of every vertex, -1 above it."""
    level = np.zeros(parent.size, np.int64)
    above = np.arange(parent.size)
    while above.any():
        level += above > 0
        above = parent[above]
    ancestor = np.arange(parent.size)
    while (level[ancestor] > depth).any():
        ancestor = np.where(level[ancestor] > depth, parent[ancestor], ancestor)
    return np.where(level >= depth, ancestor, -1)


def _with_noise(labels: Memberships, noise: float, rng: np.random.Generator) -> Memberships:
    changed = rng.random(labels.labels.size) < noise
    drawn = rng.integers(max(1, labels.n_labels), size=labels.labels.size)
    return Memberships(labels.indptr, np.where(changed, drawn, labels.labels).astype(np.int32), labels.n_labels)


def _grid_of(size: int) -> Graph:
    rows = max(1, math.isqrt(size))
    return grid(rows, size // rows)


# Shapes of about that many vertices (never more, at least one), by size and seed.
_SHAPES: tuple[Callable[[int, int], Graph], ...] = (
    lambda size, seed: planted(size, min(3 * size, size * (size - 1) // 2), seed=seed).graph,
    lambda size, seed: tree(size, extra_edges=0.0, seed=seed).graph,
    lambda size, _: ring_of_cliques(max(1, size // 5), min(size, 5)),
    lambda size, _: _grid_of(size),
    lambda size, _: star(size),
    lambda size, _: path(size),
)
