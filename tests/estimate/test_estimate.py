"""Estimates are products of measured constants: they grow as they must, add up, and name what breaks first."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks import estimate_constants

from parge.cli.main import run
from parge.errors import InputError
from parge.estimate import Estimate, Question, constants, estimate
from parge.estimate.stages import Stage
from parge.memory import format_bytes
from parge.show.text import duration
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.hope import HOPE
from parge.techniques.prone import ProNE
from parge.techniques.resolve import resolve

ROOT = Path(__file__).resolve().parents[2]


def ask(**changes: Any) -> Question:
    return Question(**{"vertices": 10**8, "edges": 10**9, **changes})


def named(found: Estimate, name: str) -> Stage:
    return next(stage for stage in found.stages if stage.name == name)


def test_every_constant_names_a_benchmark_that_exists() -> None:
    for name, constant in constants().items():
        assert constant.value > 0, name
        assert (ROOT / constant.source).exists(), name


def test_constants_are_made_from_what_the_benchmark_measured() -> None:
    stages = {
        "read": 1.0,
        "decompose": 2.0,
        "write parts": 3.0,
        "check results": 1.5,
        "reconcile": 2.5,
        "refine": 5.0,
        "write": 6.0,
    }
    row = {"vertices": 100, "edges": 1000, "stages": stages, "embed": 7.0, "coordinator_peak_bytes": 60_000}
    found = estimate_constants.of_scaling(row)
    assert {name: entry["value"] for name, entry in found.items()} == {
        "read": 0.001,
        "decompose": 0.002,
        "write_parts": 0.003,
        "embed_deepwalk": 0.07,
        "reconcile": 0.04,
        "refine": 0.005,
        "write": 0.06,
        "coordinator_memory": 60.0,
        "merge_memory": 60_000.0,
    }
    whole_way = {"sort": 1.0, "decompose": 2.0, "cut out": 3.0, "anchor_edges": 0.75}
    assert estimate_constants.of_out_of_core(whole_way, 1000)["stream"]["value"] == 0.002
    for name, entry in (found | estimate_constants.of_out_of_core(whole_way, 1000)).items():
        assert (entry["unit"], entry["source"]) == (constants()[name].unit, constants()[name].source), name


def test_constants_that_others_have_measured_are_kept(tmp_path: Path) -> None:
    path, one, other = tmp_path / "constants.json", {"value": 1.0, "unit": "s"}, {"value": 2.0, "unit": "s"}
    path.write_text(json.dumps({"mine": one, "theirs": one}))
    assert "mine: 1.0 -> 2.0 s" in estimate_constants.keep({"mine": other}, path)
    assert json.loads(path.read_text()) == {"mine": other, "theirs": one}


def test_constants_agree_with_the_page_of_the_same_benchmark() -> None:
    page = (ROOT / "docs" / "measured" / "scale.md").read_text()
    table = page[page.index("| edges | read |") :].splitlines()
    line = next(line for line in table if line.startswith("| 34.5 M |"))
    cells = dict(zip((name.strip() for name in table[0].split("|")), line.split("|"), strict=True))
    memory = float(re.findall(r"([0-9.]+) GB", cells["coordinator"])[0]) * 1e9
    n, m = 4.0e6, 34.5e6
    columns = {"write_parts": "write parts", "embed_deepwalk": "embed, all (slowest worker)"}
    counts = {"read": m, "decompose": m, "write_parts": m, "embed_deepwalk": n, "reconcile": n, "refine": m, "write": n}
    reported = {name: float(re.findall(r"[0-9.]+", cells[columns.get(name, name)])[0]) for name in counts}
    for name, count in counts.items():
        assert 1 / 1.3 < constants()[name].value * count / reported[name] < 1.3, name
    assert 1 / 1.3 < constants()["coordinator_memory"].value * m / memory < 1.3
    out_of_core = r"sort ([0-9.]+) s, choose anchors and split ([0-9.]+) s, cut out the subgraphs ([0-9.]+) s"
    [seconds] = re.findall(out_of_core, page.replace("\n", " "))
    for name, told_seconds in zip(("sort", "stream", "cut_out"), seconds, strict=True):
        assert 1 / 1.3 < constants()[name].value * 10e6 / float(told_seconds) < 1.3, name


def test_what_the_benchmark_did_in_memory_is_estimated_in_memory() -> None:
    found = estimate(
        Question(vertices=4_000_000, edges=34_500_000, workers=8, memory=2 * 10**9, coordinator=4 * 10**9), DeepWalk()
    )
    assert [stage.how for stage in found.stages[:2]] == ["in memory", "KaMinPar"]
    assert found.warnings == ()


def test_twice_the_graph_costs_twice() -> None:
    machines = {"workers": 10, "memory": 10**12, "coordinator": 10**12}
    one = estimate(ask(**machines), DeepWalk())
    two = estimate(ask(vertices=2 * 10**8, edges=2 * 10**9, **machines), DeepWalk())
    for small, large in zip(one.stages, two.stages, strict=True):
        assert large.core_seconds == pytest.approx(2 * small.core_seconds, rel=1e-3)
    assert two.network == pytest.approx(2 * one.network, rel=1e-2)


def test_workers_share_the_embedding_and_nothing_else() -> None:
    few, many = (estimate(ask(workers=w, memory=10**12), DeepWalk()) for w in (10, 100))
    for one, other in zip(few.stages, many.stages, strict=True):
        if one.name == "embed":
            assert one.core_seconds == pytest.approx(10 * other.core_seconds)
        else:
            assert one.core_seconds == other.core_seconds


@pytest.mark.parametrize("edges", [10**9, 10**12])
def test_stages_wait_for_the_disk_and_the_network(edges: int) -> None:
    slow = estimate(ask(vertices=edges // 500, edges=edges), DeepWalk())
    fast = estimate(ask(vertices=edges // 500, edges=edges, disk_speed=10**15, network_speed=10**15), DeepWalk())
    for one, other in zip(slow.stages, fast.stages, strict=True):
        assert one.seconds == pytest.approx(one.core_seconds + one.disk / 5e8 + one.network / 1.25e9)
        assert other.seconds == pytest.approx(one.core_seconds, rel=1e-2, abs=10.0)
    vectors = 4 * 128 * edges / 500
    assert named(slow, "collect").network >= vectors
    assert named(slow, "collect").seconds >= vectors / 1.25e9
    assert named(slow, "write").disk == 2 * vectors


def test_files_that_fit_memory_are_passed_over_without_the_disk() -> None:
    small, large = (named(estimate(ask(workers=4, coordinator=c), DeepWalk()), "refine") for c in (10**12, 10**11))
    assert small.disk < large.disk / 50


def test_one_worker_has_no_anchors_and_the_pass_that_its_technique_gains_by() -> None:
    walks, factors = (estimate(ask(vertices=10**6, edges=10**7), how) for how in (DeepWalk(), HOPE()))
    assert (walks.workers, walks.anchors) == (1, 0)
    assert "refine" in [stage.name for stage in walks.stages]
    assert "refine" not in [stage.name for stage in factors.stages]


def test_settling_takes_more_rounds_than_whitening() -> None:
    walks, prone = (named(estimate(ask(workers=4), how), "refine") for how in (DeepWalk(), ProNE()))
    assert (walks.how, prone.how) == ("whiten", "settle")
    assert prone.core_seconds > 6 * walks.core_seconds


@pytest.mark.parametrize("memory", [8e9, 64e9])
def test_the_fewest_workers_hold_the_graph(memory: float) -> None:
    found = estimate(ask(memory=int(memory)), DeepWalk())
    fewer = estimate(ask(memory=int(memory), workers=found.workers - 1), DeepWalk())
    held, more = (next(stage.memory for stage in one.stages if stage.name == "embed") for one in (found, fewer))
    assert held <= memory < more


@pytest.mark.parametrize("name", [name for name in constants() if name.startswith("embed_")])
def test_embedding_grows_with_what_its_constant_is_measured_by(name: str) -> None:
    [per] = re.findall(r"^seconds per (vertex|edge)\b", constants()[name].unit)
    technique = resolve(name.removeprefix("embed_"))
    one = named(estimate(ask(), technique), "embed")
    twice = {"vertex": ask(vertices=2 * 10**8), "edge": ask(edges=2 * 10**9)}
    for what, question in twice.items():
        other = named(estimate(question, technique), "embed")
        times = 2 if what == per else 1
        assert other.core_seconds * other.machines == pytest.approx(times * one.core_seconds * one.machines), what


def test_work_grows_with_the_settings_of_walks() -> None:
    plain, more = (estimate(ask(), how) for how in (DeepWalk(), DeepWalk(dim=256, walks=20)))
    seconds = [stage.core_seconds * stage.machines for stage in (named(plain, "embed"), named(more, "embed"))]
    assert seconds[1] == pytest.approx(4 * seconds[0])


def test_workers_that_cannot_hold_the_graph_are_warned_of() -> None:
    found = estimate(ask(vertices=2 * 10**9, edges=10**12, workers=1, memory=10**9), DeepWalk())
    [said] = [line for line in found.warnings if "on 1 worker:" in line]
    assert re.search(r"needs 26\.\d TB, has 1\.00 GB; give workers=\d+ or memory=26\.\d+TB", said)
    enough = int(re.findall(r"workers=(\d+)", said)[0])
    assert not any("workers" in line for line in estimate(ask(workers=enough, memory=10**9), DeepWalk()).warnings)
    assert any(item.what == "the graph on 1 worker" and item.share > 1 for item in found.breaks)


@pytest.mark.parametrize(("key", "size"), [("disk", 10**12), ("coordinator", 10**10)])
def test_a_coordinator_that_is_too_small_is_warned_of(key: str, size: int) -> None:
    found = estimate(ask(vertices=10**9, edges=10**11, **{key: size}), DeepWalk())
    assert any(re.search(rf"give {key}=[0-9.]+[GT]B or more", line) for line in found.warnings)


def test_prices_are_of_cores_and_of_bytes() -> None:
    found = estimate(ask(price_core_hour=0.5, price_gb=0.25), DeepWalk())
    assert found.price == pytest.approx(0.5 * found.core_hours + 0.25 * found.network / 1e9)
    assert estimate(ask(), DeepWalk()).price is None
    assert estimate(ask(price_core_hour=0.0), DeepWalk()).price == 0


def test_what_breaks_first_comes_first_and_is_broken_beyond_its_size() -> None:
    small, large = (estimate(ask(vertices=m // 10, edges=m), DeepWalk()) for m in (10**6, 10**13))
    assert not any(item.share > 1 for item in small.breaks)
    assert large.breaks[0].share > 1
    sizes = [item.edges for item in large.breaks]
    assert sizes == sorted(sizes)
    for item in large.breaks:
        assert (item.edges < 1e13) == (item.share > 1)


@pytest.mark.parametrize("sharded", [False, True])
def test_where_something_breaks_does_not_depend_on_the_size_asked(sharded: bool) -> None:
    def from_edges(edges: int) -> dict[str, float]:
        question = ask(vertices=edges // 8, edges=edges, workers=4, memory=10**9, coordinator=10**9)
        return {item.what: item.edges for item in estimate(question, DeepWalk(dim=32), sharded=sharded).breaks}

    small, middle, large = map(from_edges, (24_000, 240_000, 2_400_000))
    assert small.keys() == middle.keys() == large.keys()
    # What a pass reads from disk depends on what fits memory, and the anchors of a worker on what is affordable.
    others = {"one machine makes the pass over the whole graph", "the graph on 4 workers"}
    for what in small.keys() - others:
        assert small[what] == pytest.approx(large[what], rel=0.02), what
        assert middle[what] == pytest.approx(large[what], rel=0.02), what


def test_a_given_number_of_shards_does_not_grow_with_the_graph() -> None:
    def of_tables(**changes: Any) -> list[tuple[float, bool]]:
        found = estimate(ask(memory=10**12, **changes), DeepWalk(), sharded=True)
        return [(item.edges, item.share > 1) for item in found.breaks if "pair of parts" in item.what]

    assert of_tables(workers=4) == []
    assert of_tables(workers=2000) == [(0.0, True)]
    assert len(of_tables()) == 1


def test_shards_that_do_not_fit_are_told_how_many_would() -> None:
    size = {"vertices": 2 * 10**9, "edges": 10**12, "memory": 64 * 10**9}
    (warning,) = estimate(ask(**size), DeepWalk(), sharded=True).warnings
    found = re.search(r"give workers=(\d+) or more, or memory=", warning)
    assert found is not None
    enough = int(found[1])
    assert not estimate(ask(**size, workers=enough), DeepWalk(), sharded=True).warnings
    assert estimate(ask(**size, workers=enough - 1), DeepWalk(), sharded=True).warnings
    (warning,) = estimate(ask(**size | {"memory": 10**9}), DeepWalk(), sharded=True).warnings
    assert "workers=" not in warning  # no number of so small ones


def test_small_graphs_are_split_in_memory_and_large_ones_in_passes() -> None:
    small, large = (estimate(ask(vertices=m // 10, edges=m), DeepWalk()) for m in (10**6, 10**12))
    assert [found.stages[1].how for found in (small, large)] == ["KaMinPar", "streaming partitioner"]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ({"vertices": "2e9"}, "edges must be given"),
        ({"vertices": "2e9", "edges": "many"}, "edges= must be a whole number .* got 'many'"),
        ({"vertices": "2e9", "edges": "1e12", "nodes": "3"}, "unknown: nodes"),
        ({"vertices": "-1", "edges": "1"}, "at least 1"),
        ({"vertices": "0.5", "edges": "1"}, "vertices= must be a whole number"),
        ({"vertices": "10", "edges": "1e12"}, "more than the 45 pairs of vertices=10: give fewer"),
        ({"vertices": "10", "edges": "9", "workers": "0.4"}, "workers= must be a whole number .* got '0.4'"),
        ({"vertices": "10", "edges": "9", "workers": "11"}, "at most one worker per vertex"),
        ({"vertices": "10", "edges": "9", "disk": "0"}, "disk= must be a size .* such as 10TB; got '0'"),
        ({"vertices": "10", "edges": "9", "network_speed": "fast"}, "network_speed= must be bytes per second"),
        ({"vertices": "10", "edges": "9", "price_gb": "-1"}, "price_gb= must be a number from 0"),
    ],
)
def test_bad_questions_are_refused(pairs: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Question.of(pairs)


def test_speeds_and_free_things_are_read() -> None:
    asked = {"disk_speed": "2GB/s", "network_speed": "100MB", "price_gb": "0"}
    found = Question.of({"vertices": "10", "edges": "9", **asked})
    assert (found.disk_speed, found.network_speed, found.price_gb) == (2 * 10**9, 10**8, 0.0)


def test_workers_without_room_are_refused() -> None:
    with pytest.raises(InputError, match="increase memory="):
        estimate(ask(memory=10**8), DeepWalk())


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    question = ["vertices=2e9", "edges=1e12", "dim=64", "price-core-hour=0.04"]
    args = ["estimate", *question]
    assert run([*args, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert run(["plan", "--estimate", *question, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == reported
    assert reported["price"] > 0
    assert [stage["name"] for stage in reported["stages"]][:2] == ["read", "decompose"]
    assert run(args) == 0
    assert "breaks first" in capsys.readouterr().out


@pytest.mark.parametrize(("memory", "fits"), [("2GB", True), ("1GB", False)])
def test_the_first_lines_answer_how_long_and_whether_it_fits(
    capsys: pytest.CaptureFixture[str], memory: str, fits: bool
) -> None:
    args = ["estimate", "vertices=4e6", "edges=34.5e6", "workers=4", f"memory={memory}", "coordinator=4GB"]
    assert run([*args, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert run(args) == 0
    long, fitting, other = capsys.readouterr().out.splitlines()[:3]
    assert duration(reported["seconds"]) in long
    assert "34,500,000 edges" in long
    assert bool(reported["warnings"]) == (not fits)
    assert ("fits" in fitting) == fits
    worker = max(stage["memory"] for stage in reported["stages"] if stage["machines"] > 1)
    assert (f"{format_bytes(worker)} of {memory[:-2]}.00 GB" in fitting) == fits
    assert "--sharded" in other


def test_what_holds_is_shown_once_and_the_rest_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["estimate", "vertices=1e6", "edges=1e7", "memory=8GB"]
    assert run([*args, "--json"]) == 0
    n_breaks = len(json.loads(capsys.readouterr().out)["breaks"])
    assert run(args) == 0
    short = capsys.readouterr().out
    assert run([*args, "--verbose"]) == 0
    assert (short.count("holds here"), capsys.readouterr().out.count("holds here")) == (1, n_breaks)
    assert f"{n_breaks - 1} more" in short


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "reference" / "estimate.md").read_text()
    [args] = re.findall(r"^    parge (estimate vertices=2e9 .*)$", page, re.MULTILINE)
    for command in (args.split(), ["estimate", "vertices=2e9", "edges=1e12", "memory=64GB", "--sharded"]):
        assert run([*command, "--verbose"]) == 0
        printed = capsys.readouterr()
        for line in (printed.out + printed.err).splitlines():
            assert line.rstrip() in page, "paste the output of the command into docs/reference/estimate.md"


SIZE = ["vertices=2e6", "edges=1e7"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["graph.txt"], "got 'graph.txt'"),
        ([*SIZE, "technique=netmf"], "netmf has not been measured"),
        (["dim=x"], "dim= must be a whole number"),
        ([*SIZE, "edges=2e7"], "edges= was given twice, '1e7' and '2e7'"),
        ([*SIZE, "--parts", "8"], "Use workers= instead"),
        ([*SIZE, "--memory", "auto", "--engine", "ray"], "Use memory= instead"),
        ([*SIZE, "--coordinator-memory", "2GB"], "Use coordinator= instead"),
        ([*SIZE, "--refine", "none"], "does not read --refine"),
        ([*SIZE, "dim=32", "--dim", "64"], "--dim 64 and dim=32 contradict each other"),
        ([*SIZE, "technique=prone", "--technique", "line"], "contradict each other"),
    ],
)
def test_the_command_line_refuses(capsys: pytest.CaptureFixture[str], args: list[str], said: str) -> None:
    assert run(["plan", "--estimate", *args]) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")
    assert run(["estimate", *args]) == 2


def test_the_command_takes_no_other_option_of_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", *SIZE, "--parts", "8"]) == 2
    assert "No such option" in capsys.readouterr().err
    assert run(["estimate"]) == 2


def test_the_command_line_warns_and_takes_options_of_the_technique(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["dim=64", "--dim", "64", "--param", "walks=20", "workers=1", "memory=1GB"]
    assert run(["plan", "--estimate", *SIZE, *args, "--json"]) == 0
    printed = capsys.readouterr()
    [said] = json.loads(printed.out)["warnings"]
    assert "the graph on 1 worker" in said
    assert said in printed.err
