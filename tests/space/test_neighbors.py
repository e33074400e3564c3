"""Nearest vertices by cosine, one block at a time."""

import numpy as np
import pytest

from parge.embedding import Embedding
from parge.errors import InputError
from parge.links import LinkHead
from parge.space.neighbors import neighbors


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_neighbours_are_those_of_the_whole_matrix(block_rows: int) -> None:
    vectors = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    ids, cosines = neighbors(Embedding(vectors, np.arange(100, 160)), 117, 5, block_rows=block_rows)
    expected = np.argsort(-(unit @ unit[17]))[1:6]
    assert ids.tolist() == (100 + expected).tolist()
    assert np.allclose(cosines, (unit @ unit[17])[expected], atol=1e-6)


def test_copies_come_in_order_and_never_the_vertex_itself() -> None:
    ids, cosines = neighbors(Embedding(np.ones((4, 2)), np.array(["a", "b", "c", "d"])), "b", 9)
    assert ids.tolist() == ["a", "c", "d"]
    assert np.allclose(cosines, 1)


def test_zeros_and_extremes_have_a_cosine() -> None:
    embedding = Embedding(np.array([[0, 0], [1e-30, 0], [1e30, 1e30]]), np.arange(3))
    assert neighbors(embedding, 0, 2)[1].tolist() == [0, 0]
    assert neighbors(embedding, 1, 2)[1].tolist() == pytest.approx([0.5**0.5, 0])


def test_what_cannot_be_answered_is_refused() -> None:
    embedding = Embedding(np.ones((2, 2)), np.arange(2))
    with pytest.raises(InputError, match=r"\b5\b"):
        neighbors(embedding, 5)
    with pytest.raises(InputError, match=r"neighbours .* got 0"):
        neighbors(embedding, 0, 0)
    assert neighbors(Embedding(np.ones((1, 2)), np.arange(1)), 0)[0].tolist() == []


def headed() -> Embedding:
    rng = np.random.default_rng(3)
    head = LinkHead(2.0, 0.5, -1.0)
    return Embedding(rng.standard_normal((30, 4)), np.arange(30), {}, head, rng.integers(0, 40, 30))


def test_links_are_ranked_by_the_head() -> None:
    embedding = headed()
    head, degrees = embedding.for_links()
    X = embedding.vectors / np.linalg.norm(embedding.vectors, axis=1, keepdims=True)
    expected = head.cosine * X @ X[7] + head.degree * (np.log1p(degrees) + np.log1p(degrees[7]))
    expected[7] = -np.inf
    ids, scores = neighbors(embedding, 7, k=5, task="links", block_rows=4)
    assert ids.tolist() == np.argsort(-expected)[:5].tolist()
    assert scores == pytest.approx(np.sort(expected)[::-1][:5], abs=1e-5)
    assert neighbors(embedding, 7, k=29)[0].tolist() != neighbors(embedding, 7, k=29, task="links")[0].tolist()


def test_link_vectors_score_links_by_inner_product() -> None:
    embedding = headed()
    left, right = embedding.link_vectors()
    ids, scores = neighbors(embedding, 7, k=29, task="links")
    assert scores == pytest.approx((left[7] @ right.T)[ids], abs=1e-5)
    assert left @ right.T == pytest.approx((left @ right.T).T, abs=1e-4)


def test_without_a_head_links_are_refused() -> None:
    plain = Embedding(np.eye(3), np.arange(3))
    with pytest.raises(InputError, match="head"):
        neighbors(plain, 0, task="links")
    with pytest.raises(InputError, match="head"):
        plain.link_vectors()
    with pytest.raises(InputError, match="no task 'cats'"):
        neighbors(plain, 0, task="cats")
    for degrees in ([1, 2], [1, 2, -3], [1.0, 2.0, 3.0]):
        with pytest.raises(InputError, match="3 whole numbers"):
            Embedding(np.eye(3), np.arange(3), {}, LinkHead(1, 0, 0), np.array(degrees))


def test_the_metric_is_the_cosine_or_the_inner_product() -> None:
    embedding = Embedding(np.array([[1, 0], [2, 0.1], [0.1, 9]]), ["a", "b", "c"])
    assert embedding.neighbors("b", 1)[0].tolist() == ["a"]
    ids, scores = embedding.neighbors(["a", "b"], 2, metric="ip")
    assert ids.tolist() == [["b", "c"], ["a", "c"]]
    assert np.allclose(scores, [[2, 0.1], [2, 1.1]])
    assert embedding.neighbors([[0.5, 0.5]], 1, metric="ip")[0].tolist() == [["c"]]
    assert neighbors(embedding, "b", 1, metric="ip")[0].tolist() == ["a"]
    with pytest.raises(InputError, match="cosine, ip"):
        embedding.neighbors("a", metric="euclid")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="metric"):
        embedding.neighbors("a", task="links", metric="ip")
