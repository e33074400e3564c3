"""Estimates are products of measured constants: they grow as they must, add up, and name what breaks first."""

import json

import pytest

from parge.cli.main import run
from parge.errors import InputError
from parge.estimate import Question, constants, estimate
from parge.techniques.deepwalk import DeepWalk


def ask(**changes: float) -> Question:
    return Question(**{"vertices": 1e8, "edges": 1e9, **changes})  # type: ignore[arg-type]


def test_every_constant_names_a_benchmark_that_exists() -> None:
    from pathlib import Path

    root = Path(__file__).resolve().parents[1]
    for name, constant in constants().items():
        assert constant.value > 0, name
        assert (root / constant.source).exists(), name


def test_twice_the_graph_costs_twice() -> None:
    one = estimate(ask(workers=10, memory=10**12), DeepWalk())
    two = estimate(ask(vertices=2e8, edges=2e9, workers=10, memory=10**12), DeepWalk())
    assert two.seconds == pytest.approx(2 * one.seconds, rel=1e-3)
    assert two.network == pytest.approx(2 * one.network, rel=1e-2)


def test_workers_share_the_embedding_and_nothing_else() -> None:
    few, many = (estimate(ask(workers=w, memory=10**12), DeepWalk()) for w in (10, 100))
    for one, other in zip(few.stages, many.stages, strict=True):
        if one.name == "embed":
            assert one.seconds == pytest.approx(10 * other.seconds)
        elif one.name != "send parts":
            assert one.seconds == other.seconds


@pytest.mark.parametrize("memory", [8e9, 64e9])
def test_the_fewest_workers_hold_the_graph(memory: float) -> None:
    found = estimate(ask(memory=int(memory)), DeepWalk())
    fewer = estimate(ask(memory=int(memory), workers=found.workers - 1), DeepWalk())
    held, more = (next(stage.memory for stage in one.stages if stage.name == "embed") for one in (found, fewer))
    assert held <= memory < more


def test_work_grows_with_the_settings_of_walks() -> None:
    plain, more = (estimate(ask(), how) for how in (DeepWalk(), DeepWalk(dim=256, walks=20)))
    seconds = [next(s.seconds * s.machines for s in found.stages if s.name == "embed") for found in (plain, more)]
    assert seconds[1] == pytest.approx(4 * seconds[0])


def test_prices_are_of_cores_and_of_bytes() -> None:
    found = estimate(ask(price_core_hour=0.5, price_gb=0.25), DeepWalk())
    assert found.price == pytest.approx(0.5 * found.core_hours + 0.25 * found.network / 1e9)
    assert estimate(ask(), DeepWalk()).price is None


def test_what_breaks_first_comes_first_and_is_broken_beyond_its_size() -> None:
    small, large = (estimate(ask(vertices=m / 10, edges=m), DeepWalk()) for m in (1e6, 1e13))
    assert not any(item.share > 1 for item in small.breaks)
    assert large.breaks[0].share > 1
    sizes = [item.edges for item in large.breaks]
    assert sizes == sorted(sizes)
    for item in large.breaks:
        assert (item.edges < 1e13) == (item.share > 1)


def test_small_graphs_are_split_in_memory_and_large_ones_in_passes() -> None:
    small, large = (estimate(ask(vertices=m / 10, edges=m), DeepWalk()) for m in (1e6, 1e12))
    assert [found.stages[1].how for found in (small, large)] == ["KaMinPar", "streaming partitioner"]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ({"vertices": "2e9"}, "edges must be given"),
        ({"vertices": "2e9", "edges": "many"}, "edges must be a number"),
        ({"vertices": "2e9", "edges": "1e12", "nodes": "3"}, "does not know nodes"),
        ({"vertices": "-1", "edges": "1"}, "over 0"),
    ],
)
def test_bad_questions_are_refused(pairs: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Question.of(pairs)


def test_workers_without_room_are_refused() -> None:
    with pytest.raises(InputError, match="give memory= more"):
        estimate(ask(memory=10**8), DeepWalk())


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--estimate", "vertices=2e9", "edges=1e12", "dim=64", "price-core-hour=0.04"]
    assert run([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["price"] > 0
    assert [stage["name"] for stage in told["stages"]][:2] == ["read", "decompose"]
    assert run(words) == 0
    assert "breaks first" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["graph.txt"], ["vertices=2e9", "edges=1e12", "technique=netmf"], ["dim=x"]])
def test_the_command_line_refuses(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run(["plan", "--estimate", *words]) == 2
    assert "Traceback" not in capsys.readouterr().err
