"""The loss to expect: from runs measured before, with its error, and a word where more is lost than in any of them."""

import pytest

from parge.report import expected
from parge.report.expected import Seen, expected_loss

TABLE = {
    "prone": {"rotation": (Seen(0.004, 0.01, 12), Seen(0.2, 0.15, 12))},
    "any": {"rotation": (Seen(0.01, 0.02, 40), Seen(0.15, 0.12, 40))},
}


@pytest.fixture(autouse=True)
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "MEASURED", TABLE)
    monkeypatch.setattr(expected, "MOST_LOST", 0.05)


def report(**given: object) -> dict[str, object]:
    plain = {
        "technique": "prone",
        "parts": [{}, {}],
        "lost_edges": 0.03,
        "reconcile": {"reconciler": "consensus"},
        "refine": {"name": "settle"},
    }
    return {**plain, **given}


def test_a_run_has_what_runs_like_it_had() -> None:
    found = expected_loss(report())
    assert found is not None
    assert (found["loss"], found["error"], found["runs"]) == (0.004, 0.01, 12)
    assert "less than 1 %" in found["words"]
    raw = expected_loss(report(refine={"name": "none"}))
    assert raw is not None
    assert raw["loss"] == 0.2


def test_strangers_have_what_all_had() -> None:
    found = expected_loss(report(technique="mine:function", refine={"name": "none"}))
    assert found is not None
    assert found["loss"] == 0.15
    assert "techniques of all kinds" in found["words"]


def test_more_lost_edges_than_were_measured_are_named() -> None:
    found = expected_loss(report(lost_edges=0.4))
    assert found is not None
    assert "expect more" in found["words"]


def test_one_part_loses_nothing() -> None:
    assert expected_loss(report(parts=[{}])) is None
