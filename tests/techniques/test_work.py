"""What settings cost: an estimate for `parge estimate`, and a bound for folders that are not trusted."""

from dataclasses import fields, replace

import pytest

import parge
from parge.techniques.base import Technique
from parge.techniques.registry import techniques

REGISTERED = [techniques.get(name)() for name in techniques.names()]


def test_counts_multiply_and_a_small_one_makes_up_for_no_other() -> None:
    assert parge.DeepWalk(walks=80, window=10, negatives=1).most_relative_work == 16
    assert parge.DeepWalk(dim=1, walks=100).most_relative_work == 10
    assert parge.DeepWalk(threads=2).most_relative_work == 1


@pytest.mark.parametrize("technique", REGISTERED, ids=lambda technique: technique.name)
def test_the_bound_is_no_less_than_the_estimate(technique: Technique) -> None:
    assert technique.most_relative_work == 1
    counts = [field.name for field in fields(technique) if type(field.default) is int and field.default > 0]
    for name in counts:
        more = replace(technique, **{name: 2 * getattr(technique, name)})
        assert 1 <= more.most_relative_work >= more.relative_work
