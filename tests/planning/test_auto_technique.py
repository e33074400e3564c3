"""A plan with --technique auto runs what was chosen, says why, and is resumed with it; --for decides the pass."""

import json
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.cli.main import run
from parge.errors import InputError
from parge.estimate.local import Crew, Load, project
from parge.graph.generate import planted
from parge.planning.auto_technique import as_chosen, choose_technique
from parge.planning.decision import decide
from parge.techniques.auto import Auto
from parge.techniques.resolve import Described, describe

GRAPH = planted(400, 2_400, communities=8, mixing=0.3, seed=3).graph
AUTO = {"technique": "auto", "parts": 3, "engine": "serial", "seed": 2}


def test_the_vectors_are_those_of_the_chosen_technique() -> None:
    found = parge.embed(GRAPH, parge.Plan(**AUTO))
    choice = found.report.choice
    assert choice is not None
    assert found.report.technique == choice.technique
    named = parge.embed(GRAPH, parge.Plan(**{**AUTO, "technique": choice.technique}))
    assert np.array_equal(found.vectors, named.vectors)
    assert named.report.choice is None
    assert parge.Report.from_json(json.loads(json.dumps(found.report.to_json()))).choice == choice


def test_a_plan_that_names_its_technique_is_not_asked() -> None:
    plan, choice = choose_technique(GRAPH, parge.Plan("hope", parts=2))
    assert (plan.technique.name, choice) == ("hope", None)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"refine": "none"}, {"deepwalk"}),
        ({"reconcile": "backbone"}, {"deepwalk"}),
        ({"refine": "subspace"}, {"spectral"}),
        ({"refine": "whiten"}, {"blend", "spectral", "whitened"}),
        ({"refine": "none", "parts": 1}, {"blend", "spectral", "whitened"}),
    ],
)
def test_what_else_a_plan_asks_for_is_kept(asked: dict[str, str], names: set[str]) -> None:
    technique = Auto(dim=16)
    decision = decide(GRAPH, parge.Plan(**{**AUTO, "technique": technique, **asked}))
    assert decision.plan.technique.name in names
    assert decision.plan.technique.dim == 16
    assert decision.choice is not None
    assert decision.choice.technique == decision.plan.technique.name


def test_a_run_is_resumed_with_what_was_chosen(tmp_path: Path) -> None:
    whole = parge.embed(GRAPH, parge.Plan(**AUTO), run_dir=tmp_path / "run")
    again = parge.embed(GRAPH, parge.Plan(**AUTO), run_dir=tmp_path / "run", resume=True)
    assert np.array_equal(whole.vectors, again.vectors)
    assert again.report.choice == whole.report.choice


def test_another_choice_that_a_folder_names_is_taken_over_and_strange_ones_are_not() -> None:
    for technique in (parge.Whitened(), parge.SGC(), parge.DeepWalk()):
        assert as_chosen(parge.Plan(**AUTO), describe(technique)).technique == technique
    for strange in (None, Described("os:system"), Described("")):
        assert as_chosen(parge.Plan(**AUTO), strange).technique == parge.Blend()


def test_links_have_a_pass_of_their_own() -> None:
    def refine(technique: str, **asked: str | int) -> str:
        return decide(GRAPH, parge.Plan(technique, **{"parts": 3, **asked})).plan.refine  # type: ignore[arg-type]

    assert [refine("prone", purpose=each) for each in ("labels", "links", "both")] == ["settle", "blend", "blend"]
    assert refine("spectral", purpose="links") == "subspace", "whose vectors are better for links as they are"
    assert refine("prone", purpose="links", refine="whiten") == "whiten"
    assert refine("prone", purpose="links", preset="paper") == "none"
    with pytest.raises(InputError):
        parge.Plan(purpose="fun")


def test_people_are_told_what_was_chosen_and_what_the_pass_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, out = str(tmp_path / "g.txt"), str(tmp_path / "v.parquet")
    assert run(["generate", "--vertices", "150", "--edges", "900", "-o", graph]) == 0
    small = ["--technique", "auto", "--dim", "8", "--parts", "2", "--anchors", "20", "--engine", "serial"]
    capsys.readouterr()
    assert run(["plan", graph, *small, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["choice"]["technique"] == reported["technique"]
    assert any("from scratch" in notice for notice in reported["notices"])
    assert run(["plan", graph, *small]) == 0
    assert f"auto chose {reported['technique']}" in capsys.readouterr().out
    assert run(["embed", graph, "-o", out, *small, "--for", "links"]) == 0
    said = capsys.readouterr()
    assert f"auto chose {reported['technique']}" in said.out
    assert "--for has no effect" in said.err
    assert run(["plan", graph, "--technique", "auto", "--for", "money"]) == 2
    assert run(["evaluate", "links", graph, *small]) == 0
    assert "auto chose" in capsys.readouterr().out
    assert run(["evaluate", "links", graph, *small, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["choice"]["technique"] in {"blend", "spectral", "whitened"}
    assert run(["evaluate", "links", graph, *small, "--technique", "spectral", "--json"]) == 0
    assert "choice" not in json.loads(capsys.readouterr().out)


def test_a_plan_says_how_long_what_auto_may_choose_takes() -> None:
    for technique in Auto().candidates(GRAPH):
        found = project(technique, 100_000, 1_000_000, [Load(100_000, 100_000, 1_000_000)], Crew(1, "none"))
        assert found is not None, technique.name
        assert found.total > 0
