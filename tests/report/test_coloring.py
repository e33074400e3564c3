"""Labels as colours: the frequent ones have one each, by first label, matched by id."""

import numpy as np
import pytest

from parge.errors import InputError
from parge.evaluate.labels import Labels
from parge.report.coloring import N_COLORS, color_labels


def test_groups_follow_frequency_and_the_first_label() -> None:
    labels = Labels.of({"a": "x", "b": ["y", "x"], "c": "z", "d": "z"})
    found = color_labels(labels, np.array(["a", "b", "c", "d", "e"]), np.arange(5))
    assert found.names == ("x", "z")
    assert found.group.tolist() == [0, 0, 1, 1, found.unlabelled]
    assert found.texts == ("x", "x, y", "z", "z", "")


def test_only_sampled_vertices_count() -> None:
    labels = Labels.of({0: "rare", 1: "x", 2: "x"})
    found = color_labels(labels, np.arange(4), np.array([0, 3]))
    assert found.names == ("rare",)
    assert found.group.tolist() == [0, found.unlabelled]


def test_rare_labels_share_a_colour_and_long_lists_are_cut() -> None:
    many = N_COLORS + 4
    labels = Labels.of({i: [i % many] if i else list(range(many)) for i in range(100)})
    found = color_labels(labels, np.arange(100), np.arange(100))
    assert len(found.names) == N_COLORS
    assert (found.group == found.other).any()
    assert found.texts[0] == f"0, 1, 2, 3, 4 and {many - 5} more"


def test_labels_of_other_vertices_are_refused() -> None:
    with pytest.raises(InputError, match=r"2 vertices .*'u', 'v'.* 1, 2"):
        color_labels(Labels.of({"u": "x", "v": "y"}), np.array([1, 2]), np.arange(2))
