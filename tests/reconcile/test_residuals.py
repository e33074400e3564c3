"""Residuals tell aligned spaces from unrelated ones, and what the anchors cannot determine."""

import json
import re

import numpy as np
import pytest

from parge.reconcile.base import Identity
from parge.reconcile.linear import Linear
from parge.reconcile.reconciliation import few_anchors, reconcile, residuals
from parge.reconcile.rotations import Consensus
from parge.testing.reconciler import random_rotation


def spaces(n: int, n_anchors: int, dim: int, noise: float) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    common = rng.standard_normal((n_anchors, dim))
    return [(common + noise * rng.standard_normal(common.shape)) @ random_rotation(rng, dim) for _ in range(n)]


@pytest.mark.parametrize("n", [2, 5, 12])
def test_unrelated_spaces_score_root_two_and_agreeing_ones_zero(n: int) -> None:
    anchors = spaces(n, 200, 10, 0.0)
    for residual in residuals(Consensus().maps(anchors), anchors):
        assert residual.before == pytest.approx(2**0.5, abs=0.25)
        assert residual.after < 1e-9
        assert residual.held_out is not None
        assert residual.held_out < 1e-9


def test_held_out_anchors_expose_a_fit_by_heart() -> None:
    anchors = spaces(3, 24, 20, 0.3)
    for residual in residuals(Consensus().maps(anchors), anchors):
        assert residual.held_out is not None
        assert residual.held_out > 1.2 * residual.after


def test_the_held_out_residual_is_that_of_the_reconciler_asked_for() -> None:
    anchors = spaces(3, 50, 5, 0.1)
    held = {
        reconciler.name: residuals(reconciler.maps(anchors), anchors, reconciler=reconciler)[0].held_out
        for reconciler in (Consensus(), Identity(), Linear())
    }
    assert held["none"] == pytest.approx(2**0.5, abs=0.4)
    assert held["consensus"] is not None
    assert held["consensus"] < 0.3


def test_the_smallest_singular_value_is_that_of_the_rows() -> None:
    anchors = spaces(2, 40, 4, 0.5)
    anchors[1][:, 2] = anchors[1][:, 1]
    first, second = residuals(Consensus().maps(anchors), anchors)
    assert first.smallest_singular_value == pytest.approx(np.linalg.svd(anchors[0])[1][-1], rel=1e-9)
    assert second.smallest_singular_value < 1e-9
    few = residuals(Consensus().maps([r[:3] for r in anchors]), [r[:3] for r in anchors])
    assert few[0].smallest_singular_value == 0
    assert few[0].held_out is None
    assert (few[0].n_anchors, few[0].dim) == (3, 4)


@pytest.mark.parametrize("anchors", [[], [np.ones((4, 2))], [np.ones((0, 2))] * 3, [np.zeros((6, 2))] * 3])
def test_nothing_to_compare_is_no_error(anchors: list[np.ndarray]) -> None:
    found = residuals(Consensus().maps(anchors), anchors)
    assert len(found) == len(anchors)
    assert all(residual.before == residual.after == 0 for residual in found)


def test_reconciling_says_all_in_one_value() -> None:
    anchors = [rows.astype(np.float32) for rows in spaces(3, 30, 20, 0.1)]
    found = reconcile("orthogonal", anchors)
    assert found.name == "orthogonal"
    assert len(found.maps) == len(found.residuals) == 3
    assert re.search(r"30 anchors .* 20 dimensions.* 40 or more", found.warnings[0])
    assert json.loads(json.dumps(found.report().to_json()))["residuals"] == [one.to_json() for one in found.residuals]
    assert reconcile("none", anchors).warnings == ()


def test_few_anchors_are_warned_of_with_advice() -> None:
    assert few_anchors(256, 128) is None
    assert "are few" in str(few_anchors(200, 128))
    assert "not determined" in str(few_anchors(103, 128))
    assert str(few_anchors(103, 128)).endswith("Use 256 or more if there are that many, else a lower dim (--dim).")


def test_spaces_that_hardly_meet_are_warned_of_once() -> None:
    rng = np.random.default_rng(1)
    strangers = [rng.standard_normal((200, 10)) for _ in range(3)]
    for name in ("consensus", "orthogonal"):
        assert [warning for warning in reconcile(name, strangers).warnings if "hardly agree" in warning]
    assert not reconcile("none", strangers).warnings
    distant = spaces(3, 200, 10, 1.2)  # about as far off as vectors are long: labels suffer
    assert [warning for warning in reconcile("orthogonal", distant).warnings if "hardly agree" in warning]
    assert not reconcile("consensus", spaces(3, 200, 10, 0.5)).warnings


def test_one_stranger_among_spaces_that_agree_is_named() -> None:
    anchors = [*spaces(5, 200, 10, 0.1), np.random.default_rng(1).standard_normal((200, 10))]
    (warning,) = reconcile("consensus", anchors).warnings
    assert "1 of 6 subgraphs (5)" in warning
