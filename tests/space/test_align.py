"""Alignment by shared ids, whatever the order and the extra rows of either side."""

import json
from pathlib import Path

import numpy as np
import pytest

from parge.embedding import Embedding
from parge.errors import InputError
from parge.space.align import align
from parge.testing.reconciler import random_rotation


def pair(noise: float = 0.0, n: int = 200, dim: int = 5) -> tuple[Embedding, Embedding]:
    """Return a source and a reference that share all but 10 ids each, in different orders."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n, dim)) + 1
    ids = np.array([f"v{i}" for i in range(n)])
    moved = (vectors + noise * rng.standard_normal(vectors.shape)) @ random_rotation(rng, dim)
    here, there = rng.permutation(n)[10:], rng.permutation(n - 10)
    return Embedding(moved[here], ids[here]), Embedding(vectors[there], ids[there])


def test_a_planted_rotation_is_undone_by_id() -> None:
    source, reference = pair()
    aligned, found = align(source, reference)
    shared = [key for key in source.ids.tolist() if key in set(reference.ids.tolist())]
    assert np.allclose(aligned.rows(shared), reference.rows(shared), atol=1e-10)
    assert aligned.ids.tolist() == source.ids.tolist()
    assert found.shared == len(shared)
    assert (found.only_source, found.only_reference) == (190 - len(shared), 190 - len(shared))
    assert found.after < 1e-10
    assert found.before > 0.5
    assert found.held_out is not None
    assert found.held_out < 1e-10


def test_residuals_are_those_of_the_definition() -> None:
    source, reference = pair(noise=0.5)
    aligned, found = align(source, reference)
    shared = [key for key in source.ids.tolist() if key in set(reference.ids.tolist())]
    X, Y = aligned.rows(shared), reference.rows(shared)
    size = np.sqrt((np.linalg.norm(X) ** 2 + np.linalg.norm(Y) ** 2) / 2)
    assert found.after == pytest.approx(np.linalg.norm(X - Y) / size, rel=1e-9)
    assert found.before == pytest.approx(np.linalg.norm(source.rows(shared) - Y) / size, rel=1e-9)
    assert found.held_out is not None
    assert found.after < found.held_out < 1.2 * found.after
    assert found.smallest_singular_value == pytest.approx(np.linalg.svd(source.rows(shared))[1][-1], rel=1e-9)


def test_inner_products_within_the_source_are_kept() -> None:
    source, reference = pair(noise=0.5)
    aligned, _ = align(source, reference)
    assert np.allclose(aligned.vectors @ aligned.vectors.T, source.vectors @ source.vectors.T)


def test_mapped_files_of_single_precision_are_aligned(tmp_path: Path) -> None:
    source, reference = pair()
    for name, embedding in (("a", source), ("b", reference)):
        Embedding(embedding.vectors.astype(np.float32), embedding.ids).save(tmp_path / f"{name}.npy")
    aligned, found = align(Embedding.load(tmp_path / "a.npy"), Embedding.load(tmp_path / "b.npy"))
    assert aligned.vectors.dtype == np.float32
    assert found.after < 1e-6


def test_numbers_meet_strings() -> None:
    vectors = np.random.default_rng(0).standard_normal((9, 2))
    numbers = Embedding(vectors, np.arange(9))
    names = Embedding(vectors, np.array([str(i) for i in range(8)] + ["x"]))
    assert align(numbers, names)[1].shared == 8


def test_embeddings_that_cannot_meet_are_refused() -> None:
    two = Embedding(np.ones((3, 2)), np.arange(3))
    with pytest.raises(InputError, match=r"\b2\b.*\b3\b"):
        align(two, Embedding(np.ones((3, 3)), np.arange(3)))
    with pytest.raises(InputError, match=r"0, 1, 2.* 7"):
        align(two, Embedding(np.ones((1, 2)), np.array([7])))


def test_few_shared_ids_are_warned_of() -> None:
    source, reference = pair()
    few = Embedding(reference.vectors[:3], reference.ids[:3])
    aligned, found = align(source, few)
    assert "5 dimensions" in str(found)
    assert found.held_out is None
    assert found.smallest_singular_value == 0
    assert np.isfinite(aligned.vectors).all()
    assert json.loads(json.dumps(found.to_json()))["shared"] == found.shared
    assert align(source, reference)[1].warning is None


def test_embeddings_without_anything_in_common_are_warned_of() -> None:
    rng = np.random.default_rng(2)
    one, other = (Embedding(rng.standard_normal((200, 10)), np.arange(200)) for _ in range(2))
    _, found = align(one, other)
    assert "hardly agree" in str(found)
    _, related = align(*pair(noise=0.5))
    assert related.warning is None
