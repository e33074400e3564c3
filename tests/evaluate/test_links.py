"""Held-out edges reach nothing that is trained, and planted structure predicts them."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge import evaluate
from parge.decompose.decomposition import Decomposition
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate import adamic_adar, by_degree, given_out, hold_out, links, predictors, score_links
from parge.graph.graph import Graph
from parge.links import ONLY_COSINE, LinkHead
from parge.space.head import fit_head


def pairs_of(graph: Graph) -> set[tuple[int, int]]:
    rows = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    return {(int(u), int(v)) for u, v in zip(rows, graph.indices, strict=True) if u < v}


def as_set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(u), int(v)) for u, v in pairs}


def random_graph(seed: int, n_vertices: int, n_edges: int, *, weighted: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    ends = rng.integers(n_vertices, size=(n_edges, 2))
    weights = rng.random(n_edges) + 0.5 if weighted else None
    return Graph.from_edges(ends[:, 0], ends[:, 1], weights, vertices=n_vertices)


def communities(seed: int = 0, n: int = 240, n_communities: int = 6) -> tuple[Graph, np.ndarray]:
    rng = np.random.default_rng(seed)
    home = rng.integers(n_communities, size=n)
    u, v = np.triu_indices(n, 1)
    keep = rng.random(u.size) < np.where(home[u] == home[v], 0.35, 0.01)
    return Graph.from_edges(u[keep], v[keep], vertices=n), np.eye(n_communities)[home]


@examples(40)
@given(
    seed=st.integers(0, 10**6),
    n_vertices=st.integers(4, 30),
    n_edges=st.integers(4, 80),
    share=st.floats(0.05, 0.95),
    weighted=st.booleans(),
)
def test_nothing_held_out_is_left_in(seed: int, n_vertices: int, n_edges: int, share: float, weighted: bool) -> None:
    graph = random_graph(seed, n_vertices, n_edges, weighted=weighted)
    free = n_vertices * (n_vertices - 1) // 2 - graph.n_edges
    if graph.n_edges < 2 or free < graph.n_edges:
        return
    train, positives, negatives = hold_out(graph, share, seed)
    whole, kept, held, others = pairs_of(graph), pairs_of(train), as_set(positives), as_set(negatives)
    assert train.n_vertices == graph.n_vertices
    assert kept | held == whole
    assert not kept & held
    assert not others & whole
    assert len(others) == len(negatives) == len(held) == len(positives)
    assert all(u < v for u, v in held | others)
    assert abs(len(held) - share * len(whole)) <= 1
    before, after = graph.to_scipy().toarray(), train.to_scipy().toarray()
    assert all(after[u, v] == after[v, u] == before[u, v] for u, v in kept)


@examples(20)
@given(seed=st.integers(0, 10**6), n_parts=st.integers(1, 4))
def test_no_held_out_edge_reaches_a_subgraph(seed: int, n_parts: int) -> None:
    train, positives, _ = hold_out(random_graph(seed, 40, 120), 0.5, seed)
    rng = np.random.default_rng(seed)
    part = rng.integers(n_parts, size=40).astype(np.int32)
    anchors = np.sort(rng.choice(40, 6, replace=False))
    decomposition = Decomposition(train, part, anchors, np.full(n_parts, 40))
    held = as_set(positives)
    for i in range(n_parts):
        subgraph = decomposition.subgraph(i)
        seen = {tuple(sorted(subgraph.vertices[list(pair)].tolist())) for pair in pairs_of(subgraph.graph)}
        assert not seen & held


def test_the_regression_learns_from_no_test_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, vectors = communities()
    train, positives, negatives = hold_out(graph, 0.5, 3)
    corrected = by_degree(train, positives)
    seen: list[set[tuple[int, int]]] = []
    original = predictors.non_edges

    def watched(*args: Any, **options: Any) -> np.ndarray:
        seen.append(as_set(original(*args, **options)))
        return original(*args, **options)

    monkeypatch.setattr(predictors, "non_edges", watched)
    score_links(vectors, train, positives, negatives, by_degree=corrected)
    assert seen
    assert not seen[0] & (as_set(positives) | as_set(negatives) | as_set(corrected) | pairs_of(train))


def test_ids_features_and_isolated_vertices_stay() -> None:
    graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "d"], vertices=["a", "b", "c", "d", "e"])
    graph = graph.with_features(np.eye(5))
    train = hold_out(graph, 0.6, 0).train
    assert train.outside_ids.tolist() == ["a", "b", "c", "d", "e"]
    assert train.features.shape == (5, 5)


def test_the_seed_decides() -> None:
    graph = random_graph(0, 60, 200)
    assert np.array_equal(hold_out(graph, seed=1).positives, hold_out(graph, seed=1).positives)
    assert not np.array_equal(hold_out(graph, seed=1).positives, hold_out(graph, seed=2).positives)


def test_large_sparse_graphs_draw_without_looking_at_every_pair() -> None:
    graph = random_graph(0, 300_000, 20_000)
    _, positives, negatives = hold_out(graph, 0.5, 0)
    assert len(as_set(negatives) - pairs_of(graph)) == len(positives)
    # Drawn evenly: the lower end of a random pair lies at a third on average.
    assert negatives[:, 0].mean() / 300_000 == pytest.approx(1 / 3, abs=0.02)


def test_planted_communities_predict_links() -> None:
    graph, truth = communities()
    train, positives, negatives = hold_out(graph, 0.5, 0)
    vectors = truth + 0.1 * np.random.default_rng(0).standard_normal(truth.shape)
    found = score_links(vectors, train, positives, negatives)
    for score in (found.cosine, found.dot, found.logistic):
        assert score.roc_auc > 0.8
        assert score.average_precision > 0.8
    assert found.adamic_adar.roc_auc > 0.7  # about one common neighbour a pair is left in the training graph
    noise = score_links(np.random.default_rng(1).standard_normal((240, 6)), train, positives, negatives)
    assert noise.cosine.roc_auc == pytest.approx(0.5, abs=0.06)
    assert noise.logistic.roc_auc == pytest.approx(0.5, abs=0.06)
    assert noise.adamic_adar == found.adamic_adar


def test_embeddings_meet_the_graph_by_id() -> None:
    graph, truth = communities()
    train, positives, negatives = hold_out(graph, 0.5, 0)
    order = np.random.default_rng(0).permutation(240)
    assert score_links(Embedding(truth[order], order), train, positives, negatives) == score_links(
        truth, train, positives, negatives
    )
    with pytest.raises(InputError, match=r"\b0\b"):
        score_links(Embedding(truth[1:], np.arange(1, 240)), train, positives, negatives)


def test_adamic_adar_is_its_formula() -> None:
    graph = random_graph(0, 25, 90)
    rows = [set(graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()) for v in range(25)]
    pairs = np.stack(np.triu_indices(25, 1), axis=1)
    expected = [sum(1 / np.log(len(rows[w])) for w in rows[u] & rows[v]) for u, v in pairs]
    assert np.allclose(adamic_adar(graph, pairs), expected)


def test_what_cannot_be_held_out_is_refused() -> None:
    triangle = Graph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(InputError, match=r"\b3 vertices"):
        hold_out(triangle, 0.5)
    with pytest.raises(InputError, match=r"two|2"):
        hold_out(Graph.from_edges([0], [1]), 0.5)
    with pytest.raises(InputError, match="between 0 and 1; got 1"):
        hold_out(triangle, 1.0)
    graph = random_graph(0, 30, 60)
    train, positives, negatives = hold_out(graph)
    with pytest.raises(InputError, match="30 in total"):
        score_links(np.ones((29, 2)), train, positives, negatives)
    with pytest.raises(InputError, match="finite"):
        score_links(np.full((30, 2), np.nan), train, positives, negatives)
    with pytest.raises(InputError, match="both kinds"):
        score_links(np.ones((30, 2)), train, positives[:0], negatives)


def test_zero_vectors_and_full_graphs_have_scores() -> None:
    path = Graph.from_edges([0, 1], [1, 2])
    train, positives, negatives = hold_out(path, 0.5)
    found = score_links(np.zeros((3, 2)), train, positives, negatives)
    assert found.cosine.roc_auc == found.logistic.roc_auc == 0.5


NAMES = ["cosine", "dot", "logistic", "head", "adamic_adar", "degree_product", "local_walk"]


def test_json_is_that_of_the_contract() -> None:
    graph, truth = communities()
    parted = hold_out(graph)
    plain = json.loads(json.dumps(score_links(truth, *parted).to_json()))
    assert list(plain) == [*NAMES, "recall", "hits_at"]
    both = score_links(truth, *parted, by_degree=by_degree(*parted[:2])).to_json()
    assert list(both) == [*NAMES, "recall", "hits_at", "degree_corrected"]
    assert list(both["degree_corrected"]) == NAMES
    for table in (plain, both["degree_corrected"]):
        assert all(list(table[name]) == ["roc_auc", "average_precision", "hits"] for name in NAMES)
    assert both["cosine"] == plain["cosine"]  # the pairs drawn by degree change nothing else


@examples(30)
@given(seed=st.integers(0, 10**6), n_vertices=st.integers(4, 40), n_edges=st.integers(4, 90))
def test_pairs_by_degree_are_no_edges(seed: int, n_vertices: int, n_edges: int) -> None:
    graph = random_graph(seed, n_vertices, n_edges)
    free = n_vertices * (n_vertices - 1) // 2 - graph.n_edges
    if graph.n_edges < 2 or free < graph.n_edges:
        return
    train, positives, _ = hold_out(graph, 0.5, seed)
    try:
        found = by_degree(train, positives, seed)
    except InputError:
        connected = np.flatnonzero(graph.degrees)
        wanted = {(int(u), int(v)) for u in connected for v in connected if u < v}
        assert wanted == pairs_of(graph)
        return
    assert len(found) == len(positives)
    assert not as_set(found) & pairs_of(graph)
    assert all(u < v for u, v in found)
    assert (graph.degrees[found] > 0).all()
    assert np.array_equal(found, by_degree(train, positives, seed))


def test_ends_by_degree_have_the_degrees_of_edges() -> None:
    rng = np.random.default_rng(0)
    hubs = np.floor(3000 * rng.random((9000, 2)) ** 3).astype(int)
    graph = Graph.from_edges(hubs[:, 0], hubs[:, 1], vertices=3000)
    train, positives, negatives = hold_out(graph, 0.5, 0)
    corrected = by_degree(train, positives)
    means = [graph.degrees[pairs].mean() for pairs in (positives, negatives, corrected)]
    assert means[1] < 0.5 * means[0]  # drawn evenly, degrees tell who is an edge
    assert means[2] > 2 * means[1]  # hubs that are linked already are drawn in vain
    found = score_links(rng.standard_normal((3000, 8)), train, positives, negatives, by_degree=corrected)
    assert found.degree_product.roc_auc > 0.7
    assert found.head.roc_auc > 0.7  # the head knows degrees, the vectors nothing
    assert found.degree_corrected is not None
    assert found.degree_corrected.degree_product.roc_auc < 0.65


def test_the_head_is_an_inner_product_and_adds_degrees() -> None:
    rng = np.random.default_rng(1)
    vectors, degrees = rng.standard_normal((20, 5)).astype(np.float32), rng.integers(0, 50, 20)
    head = LinkHead(2.0, 0.3, -1.0)
    left, right = head.sides(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), degrees)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    logs = np.log1p(degrees)
    assert left @ right.T == pytest.approx(2 * unit @ unit.T + 0.3 * (logs[:, None] + logs[None]), abs=1e-5)


def test_a_head_without_anything_to_learn_from_is_the_cosine() -> None:
    for graph in (Graph.from_edges([], [], vertices=3), Graph.from_edges([0, 0, 1], [1, 2, 2])):
        assert fit_head(np.eye(3, dtype=np.float32), graph) == ONLY_COSINE
    tree = Graph.from_edges(np.arange(1, 300), (np.arange(1, 300) - 1) // 2)
    assert fit_head(np.random.default_rng(0).standard_normal((300, 4)), tree).degree >= 0


def test_recall_is_its_definition() -> None:
    graph, truth = communities(n=60, n_communities=3)
    vectors = truth + 0.3 * np.random.default_rng(5).standard_normal(truth.shape)
    train, positives, negatives = hold_out(graph, 0.1, 2)
    found = score_links(vectors, train, positives, negatives, recall_at=5).recall
    expected = []
    for vertex in range(60):
        wanted = {int(v) for pair in positives for v in pair if vertex in pair} - {vertex}
        if not wanted:
            continue
        near = {v for u, v in pairs_of(train) if u == vertex} | {u for u, v in pairs_of(train) if v == vertex}
        others = [v for v in range(60) if v != vertex and v not in near]
        best = sorted(others, key=lambda v: -float(vectors[vertex] @ vectors[v]))[:5]
        expected.append(len(wanted & set(best)) / min(5, len(wanted)))
    assert found.vertices == len(expected)
    assert found.dot == pytest.approx(np.mean(expected))


def test_unseen_vertices_are_at_the_origin() -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], vertices=8)
    positives, negatives = np.array([[0, 6], [1, 3]]), np.array([[0, 2], [1, 7]])
    noise = np.random.default_rng(0).standard_normal((8, 3))
    other = np.where(np.arange(8)[:, None] >= 4, 9.0, noise)
    assert score_links(noise, graph, positives, negatives) == score_links(other, graph, positives, negatives)


def test_hits_count_edges_above_the_kth_other_pair() -> None:
    found = links._score(np.array([5.0, 3.0, 1.0]), np.array([4.0, 2.0, 0.0]), 2)
    assert found.hits == pytest.approx(2 / 3)  # above 2, the second best of the others
    assert links._score(np.array([5.0]), np.array([9.0]), 2).hits == 1.0


def test_edges_that_somebody_held_out_meet_by_id() -> None:
    graph = Graph.from_edges(["a", "b", "c", "d"], ["b", "c", "d", "e"])
    held = Graph.from_edges(["e", "c"], ["a", "a"])
    found = given_out(graph, held)
    assert as_set(found.positives) == {(0, 4), (0, 2)}
    assert not as_set(found.negatives) & (pairs_of(graph) | as_set(found.positives))
    with pytest.raises(InputError, match=r"\b1 vertex"):
        given_out(graph, Graph.from_edges(["a"], ["z"]))
    with pytest.raises(InputError, match="1 of 1"):
        given_out(graph, Graph.from_edges(["b"], ["a"]))
    with pytest.raises(InputError, match="no held-out edges"):
        given_out(graph, Graph.from_edges([], [], vertices=["a"]))


def _scores_of(roc_auc: dict[str, float], recall: dict[str, float], by_degree: dict[str, float]) -> evaluate.LinkScores:
    uniform, other = (
        {name: evaluate.LinkScore(table.get(name, 0.5), 0.5, 0.25) for name in NAMES} for table in (roc_auc, by_degree)
    )
    found = evaluate.Recall(at=7, vertices=9, **{name: recall.get(name, 0.1) for name in NAMES})
    return evaluate.LinkScores(**uniform, recall=found, hits_at=50, degree_corrected=evaluate.LinkTable(**other))


def test_the_advice_names_the_best_row_of_each_question() -> None:
    scores = _scores_of({"head": 0.9}, {"local_walk": 0.8}, {"degree_product": 0.7})
    edge, recommend = scores.advice("both").splitlines()
    assert "(uniform): head." in edge
    assert "recall@7: local walk, which needs no vectors." in recommend
    assert "(by degree): degree product, which needs no vectors." in scores.advice("degree")


def test_the_table_has_hits_and_marks_rows_without_vectors() -> None:
    lines = _scores_of({}, {}, {}).table("both").splitlines()
    assert lines[1].split() == ["ROC-AUC", "AP", "hits@50"] * 2 + ["@7"]
    assert all("0.2500" in line for line in lines[2:])
    marked = {line.split(" *")[0] for line in lines if " *" in line}
    assert marked == {"adamic adar", "degree product", "local walk"}
