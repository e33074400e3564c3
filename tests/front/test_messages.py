"""Notices and warnings are Python warnings of our category, at the line that called."""

import warnings

import numpy as np
import pytest

import parge
from parge.events import Event, Part, Step

LOOP = parge.Graph.from_edges([0, 0, 1, 2, 2], [0, 1, 2, 3, 4])
FEW = {"technique": "hope", "dim": 3, "parts": 2, "anchors": 2, "engine": "serial"}


def test_what_a_run_says_is_warned_of_at_the_caller_s_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = parge.embed(LOOP, **FEW)
    said = [(warning.category, str(warning.message)) for warning in caught]
    assert said[: len(found.report.notices)] == [(parge.PargeNotice, text) for text in found.report.notices]
    assert said[len(found.report.notices) :] == [(parge.PargeWarning, text) for text in found.report.warnings]
    assert found.report.notices
    assert found.report.warnings
    assert {warning.filename for warning in caught} == {__file__}


def test_one_category_silences_all_of_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", parge.PargeWarning)
        parge.embed(LOOP, **FEW)
    with warnings.catch_warnings(), pytest.raises(parge.PargeNotice, match="self loop"):
        warnings.simplefilter("error", parge.PargeNotice)
        parge.embed(LOOP, **FEW)


def test_a_plan_has_its_words_within() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = parge.plan(LOOP, **FEW)
    assert found.notices
    assert found.warnings
    assert all(f"notice: {text}" in repr(found) for text in found.notices)
    assert all(f"warning: {text}" in repr(found) for text in found.warnings)


def test_a_listener_hears_every_stage_and_part() -> None:
    heard: list[Event] = []
    edges = list(zip(range(40), np.roll(range(40), 1).tolist(), strict=True))
    parge.embed(edges, listener=heard.append, technique="sgc", dim=2, parts=2, engine="serial")
    stages = [event.stage for event in heard if isinstance(event, Step)]
    assert [stages[0], *dict.fromkeys(stages[1:])] == ["read", "decompose", "embed", "reconcile", "refine"]
    assert {event.index for event in heard if isinstance(event, Part) and event.share == 1} == {0, 1}


def test_what_cannot_listen_is_refused_before_any_work() -> None:
    with pytest.raises(parge.InputError, match=r"listener.*3"):
        parge.embed(LOOP, listener=3, **FEW)
    assert issubclass(parge.InputError, parge.PargeError)
