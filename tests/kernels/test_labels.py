"""Labels, packs and hashes against their slow twins; edges among groups thinned out from rows and from a matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.kernels import naive_labels

from parge.graph.graph import Graph
from parge.kernels import csr, labels
from parge.testing.graphs import graphs


@given(graph=graphs(max_vertices=20), seed=st.integers(0, 999), any_will_do=st.booleans(), once=st.booleans())
@examples(60)
def test_vertices_prefer_the_label_of_most_edges(graph: Graph, seed: int, any_will_do: bool, once: bool) -> None:
    rng, n = np.random.default_rng(seed), graph.n_vertices
    label, avoid = rng.integers(0, max(1, n // 2), n).astype(np.int32), rng.integers(-1, 4, n).astype(np.int32)
    times = np.ones(graph.indices.size, np.int32) if once else rng.integers(1, 4, graph.indices.size).astype(np.int32)
    active, salt = rng.random(n) < 0.8, int(rng.integers(2**62))
    wish, strength = np.empty(n, np.int32), np.empty(n, np.int64)
    given_times = times[:0] if once else times
    labels.favourite_labels(
        graph.indptr, graph.indices, given_times, label, active, avoid, np.uint64(salt), any_will_do, wish, strength
    )
    for v in range(n):
        twin = naive_labels.favourite(graph, v, times, label.tolist(), int(avoid[v]), salt, any_will_do)
        assert (wish[v], strength[v]) == (twin if active[v] else (-1, 0))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=30), st.integers(1, 9))
@examples(60)
def test_packs_are_filled_in_order(items: list[tuple[int, int]], most: int) -> None:
    items = sorted(items, key=lambda item: item[0])
    group, weights = (np.array([item[i] for item in items], np.int64) for i in range(2))
    assert labels.packed(group, weights, most).tolist() == naive_labels.packs(group.tolist(), weights.tolist(), most)


@given(st.lists(st.text(max_size=9), max_size=9))
@examples(60)
def test_texts_have_hashes(texts: list[str]) -> None:
    encoded = [text.encode(errors="replace") for text in texts]
    data, ends = np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(text) for text in encoded], dtype=np.int64)
    found = labels.hash_texts(data, ends).tolist()
    assert found == [naive_labels.text_hash(text.decode()) for text in encoded]


@given(graph=graphs(max_vertices=20, weighted=True), links=st.floats(0.1, 5))
@examples(60)
def test_a_matrix_is_thinned_out_as_rows_are(graph: Graph, links: float) -> None:
    n = graph.n_vertices
    thin = links / (1 + graph.degrees)
    size = int(graph.indptr[-1])
    indptr, indices = np.zeros(n + 1, np.int64), np.empty(size, graph.indices.dtype)
    weights, loops = np.empty(size, np.float32), np.zeros(n, np.float32)
    every, nothing = np.arange(n), np.zeros(n)
    heavy_rows = np.ones(size) if graph.weights is None else graph.weights.astype(np.float64)
    taken = np.zeros(n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    place = every.astype(graph.indices.dtype)
    rows = graph.indptr, graph.indices, heavy_rows, nothing
    csr.thinned_rows(*rows, *taken, every, place, thin, indptr, indices, weights, loops)
    dense = graph.to_scipy().toarray().astype(np.float64)
    first = n // 2
    for block in (slice(0, first), slice(first, n)):
        rows = dense[block]
        columns, heavy = np.empty(rows.size, np.int32), np.empty(rows.size, np.float32)
        sizes, inside = np.empty(len(rows), np.int64), np.zeros(n, np.float32)
        kept = csr.thinned_block(rows, every, thin, block.start, columns, heavy, sizes, inside)
        some = slice(indptr[block.start], indptr[block.stop])
        assert sizes.tolist() == np.diff(indptr)[block].tolist()
        assert columns[:kept].tolist() == indices[some].tolist()
        assert heavy[:kept] == pytest.approx(weights[some])
        assert not inside.any()
