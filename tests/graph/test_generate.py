"""Generated graphs have exactly the sizes asked for, keep the laws, and hold the truth that was planted."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.csgraph
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from tests.examples import examples

from parge.errors import InputError
from parge.evaluate.labels import read_labels
from parge.graph.generate import Memberships, Planted, disconnected, grid, path, planted, ring_of_cliques, star, tree
from parge.graph.graph import Graph
from parge.io.labels import write_labels
from parge.testing.graphs import assert_graph_laws


def share_inside(made: Planted) -> float:
    """Share of the edges whose ends have a label in common, counted the plain way."""
    graph, labels = made.graph, [set(made.labels.of(v).tolist()) for v in range(made.graph.n_vertices)]
    inside = sum(
        bool(labels[u] & labels[v])
        for u in range(graph.n_vertices)
        for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
    )
    return inside / graph.indices.size


def equal(a: Graph, b: Graph) -> bool:
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


@given(
    st.integers(0, 60),
    st.floats(0, 1),
    st.integers(1, 9),
    st.floats(0, 1),
    st.floats(2.05, 5),
    st.floats(1, 3),
    st.integers(0, 9),
)
@examples(150)
def test_planted_has_exactly_the_edges_asked_for(
    n_vertices: int, density: float, communities: int, mixing: float, exponent: float, per_vertex: float, seed: int
) -> None:
    communities = min(communities, max(1, n_vertices))
    n_edges = round(density * n_vertices * (n_vertices - 1) / 2)  # up to the complete graph
    per_vertex = min(per_vertex, max(1, communities / 2))
    made = planted(
        n_vertices,
        n_edges,
        communities=communities,
        mixing=mixing,
        exponent=exponent,
        labels_per_vertex=per_vertex,
        seed=seed,
    )
    assert (made.graph.n_vertices, made.graph.n_edges, made.graph.notices) == (n_vertices, n_edges, ())
    assert_graph_laws(made.graph)
    assert made.labels.n_vertices == n_vertices
    assert made.labels.labels.size == round(per_vertex * n_vertices)
    assert (np.diff(made.labels.indptr) >= 1).all()
    assert set(made.labels.labels) == (set(range(communities)) if n_vertices else set())


@pytest.mark.parametrize("per_vertex", [1.0, 1.7])
@pytest.mark.parametrize("mixing", [0.0, 0.15, 0.6, 1.0])
def test_planted_mixes_as_asked(mixing: float, per_vertex: float) -> None:
    made = planted(3000, 12_000, communities=12, mixing=mixing, labels_per_vertex=per_vertex, seed=3)
    assert share_inside(made) == pytest.approx(1 - mixing, abs=0.002)


def test_one_community_holds_all_edges() -> None:
    made = planted(200, 800, communities=1, mixing=0.5, seed=1)
    assert (made.graph.n_edges, share_inside(made)) == (800, 1.0)


def test_edges_that_communities_cannot_hold_go_elsewhere() -> None:
    # Ten communities of four vertices hold about 60 edges; 400 of the 500 were to lie inside.
    made = planted(40, 500, communities=10, mixing=0.2, seed=5)
    assert made.graph.n_edges == 500
    assert share_inside(made) < 0.4


def test_planted_degrees_follow_the_power_law() -> None:
    tails = {}
    for exponent in (2.2, 2.5, 3.5):
        degrees = np.sort(planted(25_000, 150_000, exponent=exponent, seed=2).graph.degrees)[::-1]
        tail = degrees[:500]  # Hill's estimate over the largest 2 %
        tails[exponent] = 1 + 1 / np.log(tail / tail[-1]).mean()
        assert degrees.mean() == pytest.approx(2 * 150_000 / 25_000)
    assert tails[2.2] < tails[2.5] < tails[3.5]
    assert tails[2.5] == pytest.approx(2.5, abs=0.4)


def test_planted_degrees_are_heavy_tailed_against_a_control() -> None:
    graph = planted(20_000, 150_000, seed=4).graph
    even = planted(20_000, 150_000, exponent=50, seed=4).graph
    assert graph.degrees.max() > 30 * np.median(graph.degrees)
    assert even.degrees.max() < 4 * np.median(even.degrees)


def test_communities_are_uneven_and_none_is_empty() -> None:
    sizes = np.bincount(planted(10_000, 50_000, communities=50, seed=1).labels.labels)
    assert sizes.size == 50
    assert sizes.min() > 10_000 / 50 / 4
    assert sizes.max() > 4 * sizes.min()


def spectral_accuracy(made: Planted, dim: int) -> tuple[float, float]:
    """Accuracy of a logistic regression on spectral vectors, trained on half the vertices; and by chance."""
    labelled = np.flatnonzero(np.diff(made.labels.indptr) > 0)
    label = made.labels.labels[made.labels.indptr[labelled]]
    adjacency = made.graph.to_scipy().astype(np.float64)
    scale = scipy.sparse.diags_array(1 / np.sqrt(np.maximum(1, made.graph.degrees)))
    start = np.random.default_rng(0).standard_normal(made.graph.n_vertices)
    vectors = scipy.sparse.linalg.eigsh(scale @ adjacency @ scale, k=dim, v0=start)[1][labelled]
    vectors /= np.maximum(1e-12, np.linalg.norm(vectors, axis=1, keepdims=True))
    train = np.random.default_rng(1).permutation(labelled.size) < labelled.size / 2
    model = LogisticRegression(C=10, max_iter=1000).fit(vectors[train], label[train])
    by_chance = np.bincount(label).max() / label.size
    return float(model.score(vectors[~train], label[~train])), float(by_chance)


def test_planted_communities_can_be_found() -> None:
    found, by_chance = spectral_accuracy(planted(2000, 16_000, communities=8, mixing=0.3, seed=6), dim=10)
    assert by_chance < 0.25
    assert found > 0.9
    lost, by_chance = spectral_accuracy(planted(2000, 16_000, communities=8, mixing=0.85, seed=6), dim=10)
    assert lost < by_chance + 0.1  # the control: edges that hardly follow communities say nothing of them


def test_tree_classes_can_be_found() -> None:
    made = tree(3000, extra_edges=0.5, depth=2, mixing=0.2, noise=0.1, seed=6)
    found, by_chance = spectral_accuracy(made, dim=32)
    assert by_chance < 0.4
    assert found > by_chance + 0.3


@given(st.integers(0, 300), st.floats(1, 8), st.floats(0, 1.5), st.integers(0, 5), st.floats(0, 1), st.integers(0, 9))
@examples(100)
def test_tree_is_connected_with_few_cycles(
    n_vertices: int, branching: float, extra: float, depth: int, noise: float, seed: int
) -> None:
    most = n_vertices * (n_vertices - 1) // 2
    n_edges = max(0, n_vertices - 1) + round(extra * max(0, n_vertices - 1))
    if n_edges > most:
        with pytest.raises(InputError, match=f"{n_edges:,} edges"):
            tree(n_vertices, branching=branching, extra_edges=extra, seed=seed)
        return
    made = tree(n_vertices, branching=branching, extra_edges=extra, depth=depth, noise=noise, seed=seed)
    assert made.graph.n_edges == n_edges
    assert_graph_laws(made.graph)
    if n_vertices:
        assert scipy.sparse.csgraph.connected_components(made.graph.to_scipy())[0] == 1
    assert made.labels.n_vertices == n_vertices
    assert (np.diff(made.labels.indptr) <= 1).all()
    assert made.labels.labels.size == 0 or made.labels.labels.max() < made.labels.n_labels


def test_tree_classes_are_subtrees() -> None:
    made = tree(2000, extra_edges=0.0, depth=3, branching=3, noise=0.0, seed=8)
    graph, label = made.graph, np.full(2000, -1)
    labelled = np.flatnonzero(np.diff(made.labels.indptr))
    label[labelled] = made.labels.labels
    rows = np.repeat(np.arange(2000), graph.degrees)
    inside = label[rows] == label[graph.indices]
    # Cutting the tree where labels change leaves each class in one piece, and the unlabelled top in one.
    kept = scipy.sparse.csr_matrix((np.ones(inside.sum()), (rows[inside], graph.indices[inside])), shape=(2000, 2000))
    assert scipy.sparse.csgraph.connected_components(kept)[0] == made.labels.n_labels + 1
    assert 10 <= made.labels.n_labels <= 60  # about 27
    noisy = tree(2000, extra_edges=0.0, depth=3, branching=3, noise=0.2, seed=8)
    assert np.mean(noisy.labels.labels != made.labels.labels) == pytest.approx(0.2, abs=0.04)


def test_tree_branches_as_asked() -> None:
    for branching in (2, 5):
        degrees = tree(20_000, branching=branching, extra_edges=0.0, seed=1).graph.degrees
        children = degrees[degrees > 1] - 1
        assert children.mean() == pytest.approx(branching, rel=0.25)


def test_extra_edges_stay_in_their_class_as_asked() -> None:
    kept = [share_inside(tree(4000, extra_edges=1.5, depth=2, mixing=mixing, noise=0, seed=1)) for mixing in (0.1, 0.9)]
    assert kept[0] - kept[1] == pytest.approx(0.8 * 1.5 / 2.5, abs=0.02)


def test_plain_shapes() -> None:
    networkx = pytest.importorskip("networkx")
    shapes = {
        "path": (path(6), networkx.path_graph(6)),
        "star": (star(6), networkx.star_graph(5)),
        "grid": (grid(3, 4), networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(3, 4))),
        "ring of one clique": (ring_of_cliques(1, 4), networkx.complete_graph(4)),
        "ring of single vertices": (ring_of_cliques(5, 1), networkx.cycle_graph(5)),
        "ring of cliques": (ring_of_cliques(4, 5), None),
    }
    for name, (graph, expected) in shapes.items():
        assert_graph_laws(graph)
        if expected is not None:
            assert (graph.to_scipy() != networkx.to_scipy_sparse_array(expected)).nnz == 0, name


def test_ring_of_cliques_ties_neighbours_once() -> None:
    graph = ring_of_cliques(5, 4)
    clique = np.arange(20) // 4
    rows = np.repeat(np.arange(20), graph.degrees)
    between = np.zeros((5, 5), int)
    np.add.at(between, (clique[rows], clique[graph.indices]), 1)
    ring = np.roll(np.eye(5, dtype=int), 1, axis=0)
    assert np.array_equal(between, 12 * np.eye(5, dtype=int) + ring + ring.T)
    assert ring_of_cliques(2, 3).n_edges == 7


@pytest.mark.parametrize(
    "graph", [path(0), path(1), star(0), star(1), grid(0, 3), grid(1, 1), ring_of_cliques(0, 3), ring_of_cliques(1, 1)]
)
def test_smallest_shapes_have_no_edge(graph: Graph) -> None:
    assert_graph_laws(graph)
    assert graph.n_edges == 0


@given(st.integers(0, 400), st.floats(0, 1), st.integers(0, 99))
@examples(60)
def test_disconnected_keeps_its_size(n_vertices: int, isolated: float, seed: int) -> None:
    graph = disconnected(n_vertices, isolated=isolated, seed=seed)
    assert_graph_laws(graph)
    assert graph.n_vertices == n_vertices
    assert np.count_nonzero(graph.degrees == 0) >= isolated * n_vertices


def test_disconnected_has_many_uneven_components() -> None:
    graph = disconnected(3000, seed=2)
    sizes = np.bincount(scipy.sparse.csgraph.connected_components(graph.to_scipy())[1])
    assert np.count_nonzero(sizes > 1) > 10
    assert np.unique(sizes).size > 5
    assert 1000 < sizes.max() < 2000


SEEDED: dict[str, Callable[[int], Graph]] = {
    "planted": lambda seed: planted(500, 2000, labels_per_vertex=1.5, seed=seed).graph,
    "tree": lambda seed: tree(500, seed=seed).graph,
    "disconnected": lambda seed: disconnected(500, seed=seed),
}


@pytest.mark.parametrize("kind", SEEDED)
def test_a_seed_gives_its_own_graph_every_time(kind: str) -> None:
    make = SEEDED[kind]
    assert equal(make(7), make(7))
    assert not equal(make(7), make(8))


def test_a_seed_gives_its_own_labels_every_time() -> None:
    first, again, other = (planted(500, 2000, labels_per_vertex=1.5, seed=seed).labels for seed in (7, 7, 8))
    assert np.array_equal(first.indptr, again.indptr)
    assert np.array_equal(first.labels, again.labels)
    assert not np.array_equal(first.indptr, other.indptr)


def test_vertex_numbers_tell_nothing_of_communities() -> None:
    label = planted(5000, 20_000, communities=5, seed=1).labels.labels
    by_chance = ((np.bincount(label) / label.size) ** 2).sum()
    assert np.mean(label[1:] == label[:-1]) == pytest.approx(by_chance, abs=0.03)


REFUSED: dict[str, Callable[[], object]] = {
    "11 edges are requested, but 5 vertices have at most 10": lambda: planted(5, 11),
    "at least 0; got -3": lambda: planted(-3, 0),
    "at least 0; got -1": lambda: path(-1),
    "mixing must be a number from 0 to 1; got 1.5": lambda: planted(10, 10, mixing=1.5),
    "mixing must be a number from 0 to 1; got nan": lambda: planted(10, 10, mixing=float("nan")),
    "exponent must be a number above 2 and at most 1000; got 2": lambda: planted(10, 10, exponent=2),
    "communities must be a whole number of at least 1 and at most 10; got 11": lambda: planted(10, 10, communities=11),
    "labels_per_vertex must be a number from 1 to 2; got 3": lambda: planted(
        10, 10, communities=4, labels_per_vertex=3
    ),
    "branching must be a number of at least 1; got 0.5": lambda: tree(10, branching=0.5),
    "isolated must be a number from 0 to 1; got -0.1": lambda: disconnected(10, isolated=-0.1),
    "size must be a whole number of at least 1; got 0": lambda: ring_of_cliques(3, 0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_impossible_wishes_are_refused(message: str) -> None:
    with pytest.raises(InputError, match=message):
        REFUSED[message]()


def example_labels() -> Memberships:
    return Memberships(np.array([0, 1, 1, 3]), np.array([4, 0, 12], np.int32), 13)


def text_of(file: Path) -> str:
    data = file.read_bytes()
    return (gzip.decompress(data) if file.suffix == ".gz" else data).decode()


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_labels_are_written_one_per_line_and_read_without_options(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"graph.labels{suffix}"
    write_labels(file, np.array(["ann", "bob", "åsa"], np.dtypes.StringDType()), example_labels())
    assert text_of(file) == "ann 4\nåsa 0\nåsa 12\n"
    write_labels(file, np.array([10, 20, 30]), example_labels())
    assert text_of(file) == "10 4\n30 0\n30 12\n"
    assert read_labels(file).counts.tolist() == [1, 2]


def test_labels_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "graph.labels"
    with pytest.raises(InputError, match="'ann b'"):
        write_labels(file, np.array(["ann b", "bob", "cid"], np.dtypes.StringDType()), example_labels())
    with pytest.raises(InputError, match=r"2 ids .* 3 vertices"):
        write_labels(file, np.array([1, 2]), example_labels())
    assert not file.exists()


def test_labels_cannot_be_written_to() -> None:
    labels = planted(100, 200, seed=1).labels
    for array in (labels.indptr, labels.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
