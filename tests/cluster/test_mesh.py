"""Sums and marks that shards tell each other in as few bytes as may be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.cluster.mesh import Mesh, run_local
from parge.cluster.rows import Owners, _marked, _marks, joined, slices_for


@pytest.mark.parametrize("share", [0.0, 0.01, 0.9], ids=["none", "few", "most"])
@pytest.mark.parametrize("shape", [(3,), (70, 60), (5, 1000)])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_totals_are_those_of_all_shards(size: int, shape: tuple[int, ...], share: float) -> None:
    rng = np.random.default_rng(3)
    counts = np.where(rng.random((size, *shape)) < share, rng.integers(-(2**60), 2**60, (size, *shape)), 0) // size

    def program(mesh: Mesh) -> np.ndarray:
        return mesh.total(counts[mesh.rank])

    for found in run_local(size, program):
        assert np.array_equal(found, counts.sum(axis=0))


@given(n=st.integers(0, 400), share=st.floats(0, 1))
@examples(30)
def test_marks_are_short_and_tell_the_places(n: int, share: float) -> None:
    chosen = np.random.default_rng(n).random(n) < share
    marks = _marks(chosen)
    assert marks.nbytes <= -(-n // 8)
    assert np.array_equal(_marked(marks, n), np.flatnonzero(chosen))


@given(n=st.integers(1, 60), size=st.integers(1, 6), seed=st.integers(0, 99), n_slices=st.integers(1, 9))
@examples(30)
def test_slices_ascend_within_every_shard_and_are_even(n: int, size: int, seed: int, n_slices: int) -> None:
    owners = Owners.drawn(n, size, np.random.default_rng(seed))
    for rank in range(size):
        names = owners.held(rank)
        found = owners.slices(names, n_slices)
        assert (np.diff(found.astype(int)) >= 0).all()
        counts = np.bincount(found, minlength=n_slices)
        assert counts.size == n_slices
        assert counts.max() - counts.min() <= 1


def test_all_shards_agree_on_the_slices() -> None:
    assert len(set(run_local(4, lambda mesh: slices_for(mesh, 10 * mesh.rank)))) == 1


def test_pieces_are_let_go_when_they_are_joined() -> None:
    pieces = [np.arange(3), np.zeros(0, np.int64), np.arange(2)]
    assert joined(pieces).tolist() == [0, 1, 2, 0, 1]
    assert pieces == []
