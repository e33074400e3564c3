"""The whole way: the same bits however it is run, one part unchanged, failures named, anything as a technique."""

from pathlib import Path

import numpy as np
import pytest

import parge
from parge.errors import InputError, TechniqueError
from parge.events import Event, Part, Step
from parge.graph.generate import planted, ring_of_cliques
from parge.graph.subgraph import Subgraph
from parge.run import pipeline
from parge.run.run import common_dim
from parge.seeds import keyed_rng
from parge.techniques.adapt import adapt

GRAPH = planted(300, 1500, communities=5, seed=1).graph
TECHNIQUE = parge.DeepWalk(dim=8, walks=2, walk_length=10)


def plan(**fields: object) -> parge.Plan:
    return parge.Plan(**{"technique": TECHNIQUE, "parts": 3, "engine": "serial", "seed": 5, **fields})


def spectral(csr, rng):  # type: ignore[no-untyped-def]
    start = rng.normal(size=(csr.shape[0], 6))
    return np.linalg.qr(csr @ (csr @ start))[0]


def test_one_part_without_a_pass_returns_the_technique_s_own_vectors() -> None:
    found = parge.embed(GRAPH, plan(parts=1, refine="none"))
    alone = TECHNIQUE.embed(Subgraph.whole(GRAPH), keyed_rng(5, "embed", 0))
    assert np.array_equal(found.vectors, alone)
    assert found.report.lost_edges == 0


def test_the_whole_graph_has_the_pass_of_any_other_plan() -> None:
    found = parge.embed(GRAPH, plan(parts=1))
    assert found.report.refine.name == plan().resolved.refine == "whiten"
    assert parge.embed(GRAPH, plan(parts=1, preset="paper")).report.refine.name == "none"
    for technique in (parge.HOPE(dim=8), parge.Spectral(dim=8), parge.Whitened(dim=8)):
        whole, parts = plan(parts=1, technique=technique).resolved, plan(technique=technique).resolved
        assert (whole.refiner.is_identity, parts.refiner.is_identity) == (True, False)


@pytest.mark.slow
def test_same_seed_same_bits_whatever_the_engine_and_workers() -> None:
    serial = parge.embed(GRAPH, plan())
    for workers in (1, 2, 3):
        again = parge.embed(GRAPH, plan(engine="processes", workers=workers))
        assert np.array_equal(serial.vectors, again.vectors)
    assert not np.array_equal(serial.vectors, parge.embed(GRAPH, plan(seed=6)).vectors)


@pytest.mark.parametrize("reconcile", ["backbone", "consensus"])
def test_subgraphs_are_written_alike_on_one_thread_and_two(
    reconcile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for cores in (1, 2):
        monkeypatch.setattr(pipeline, "usable_cores", lambda cores=cores: cores)
        pipeline.embed_to_file(
            GRAPH, plan(reconcile=reconcile), tmp_path / f"{cores}.npy", run_dir=tmp_path / str(cores)
        )
        files = sorted((tmp_path / str(cores) / "parts").rglob("subgraph/*.npy"))
        written.append({str(file.relative_to(tmp_path / str(cores))): file.read_bytes() for file in files})
    assert written[0] == written[1]
    assert len({Path(name).parts[1] for name in written[0]}) == 3


def test_every_vertex_has_a_vector_under_its_own_id() -> None:
    names = np.array([f"person {v}" for v in range(40)])
    ring = ring_of_cliques(8, 5)
    source = np.repeat(np.arange(40), ring.degrees)
    graph = parge.Graph.from_edges(names[source], names[ring.indices], vertices=[*names, "a hermit"])
    found = parge.embed(graph, plan(technique=spectral, parts=2))
    assert sorted(found.ids.tolist()) == sorted([*names.tolist(), "a hermit"])
    assert found.vector("a hermit").shape == (6,)


def test_reconciling_beats_not_reconciling() -> None:
    hope = parge.HOPE(dim=8)
    reference = parge.embed(GRAPH, plan(parts=1, technique=hope))
    both = [
        parge.evaluate.pip(parge.embed(GRAPH, plan(technique=hope, reconcile=how, refine="none")), reference).relative
        for how in ("none", "consensus")
    ]
    assert both[1] < 0.9 * both[0]


def test_aligned_techniques_are_not_rotated_unless_asked() -> None:
    assert plan(technique=parge.SGC(dim=8)).resolved.reconcile == "none"
    assert plan(technique=parge.SGC(dim=8), reconcile="orthogonal").resolved.reconcile == "orthogonal"


def test_report_has_the_contract_s_keys() -> None:
    report = parge.embed(GRAPH, plan(capacities=[150, 150, 200], parts=None)).report
    assert {"vertices", "edges", "dim", "anchors", "lost_edges", "parts", "seconds"} <= set(report)
    wanted = {"vertices", "capacity", "edges", "projected_bytes", "peak_bytes", "seconds"}
    assert all(wanted <= set(part) for part in report["parts"])
    assert {"decompose", "embed", "reconcile", "refine", "total"} <= set(report["seconds"])
    assert [part["capacity"] for part in report["parts"]] == [150, 150, 200]
    assert all(part["vertices"] <= part["capacity"] for part in report["parts"])


def test_listener_hears_stages_and_parts() -> None:
    heard: list[Event] = []
    parge.embed(GRAPH, plan(), listener=heard.append)
    assert [event.stage for event in heard if isinstance(event, Step) and event.stage != "decompose"] == [
        "prepare",
        "embed",
        "reconcile",
        "refine",
    ]
    assert {event.index for event in heard if isinstance(event, Part) and event.share == 1} == {0, 1, 2}


@pytest.mark.parametrize("engine", ["serial", "processes"])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda csr, rng: np.zeros((3, 4)), r"<lambda>.*subgraph \d .*3 rows"),
        (lambda csr, rng: np.full((csr.shape[0], 4), np.nan), r"<lambda>.*subgraph \d .*nan in row 0"),
        (lambda csr, rng: "vectors", r"<lambda>.*subgraph \d .*str"),
        (lambda csr, rng: np.zeros(csr.shape[0]), r"<lambda>.*subgraph \d "),
    ],
)
def test_a_wrong_answer_names_the_subgraph_and_the_technique(engine: str, answer: object, message: str) -> None:
    with pytest.raises(TechniqueError, match=message):
        parge.embed(GRAPH, plan(technique=answer, engine=engine))


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_an_exception_keeps_its_type_and_says_where(engine: str) -> None:
    def touchy(csr, rng):  # type: ignore[no-untyped-def]
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError) as caught:
        parge.embed(GRAPH, plan(technique=touchy, engine=engine))
    notes = "\n".join(caught.value.__notes__)
    assert "subgraph" in notes
    assert "touchy" in notes


def test_different_widths_are_refused() -> None:
    with pytest.raises(TechniqueError, match=r"\d+ columns.* subgraph 0 .*\d+ to subgraph \d"):
        parge.embed(GRAPH, plan(technique=lambda csr, rng: np.ones((csr.shape[0], csr.shape[0] % 7 + 1))))


def test_subgraphs_must_have_vectors_of_one_length() -> None:
    technique = adapt(spectral)
    assert common_dim(technique, [4, 0, 4]) == 4
    assert common_dim(adapt(spectral, dim=9), [0, 0]) == 9
    with pytest.raises(TechniqueError, match=r"4 .* 0 .* 7 .* 2.* dim=7"):
        common_dim(technique, [4, 0, 7])


def test_plan_refuses_what_it_cannot_mean() -> None:
    with pytest.raises(InputError, match=r"parts.*capacities"):
        plan(capacities=[1])
    with pytest.raises(InputError, match=r"'x'.*best, paper"):
        plan(preset="x")
    with pytest.raises(InputError, match=r"'x'.*closedform, deepwalk"):
        parge.embed(GRAPH, plan(technique="x"))
    with pytest.raises(InputError, match="no partitioner 'x'; known"):
        parge.embed(GRAPH, plan(partitioner="x"))
    with pytest.raises(InputError, match=r"seed .* 0"):
        plan(seed=-1)
    for wrong in ({"parts": 0}, {"parts": 2.5}, {"parts": None, "capacities": [3.9]}, {"parts": None, "capacities": 5}):
        with pytest.raises(InputError):
            plan(**wrong)
    with pytest.raises(InputError, match="no reconciler 'force'"):
        _ = plan(reconcile="force").resolved
    with pytest.raises(InputError, match="no engine 'steam'"):
        _ = plan(engine="steam").resolved
    with pytest.raises(InputError, match="'zzz'"):
        plan(refine="zzz")
    with pytest.raises(InputError, match="'few'"):
        plan(anchors="few")
    assert plan(parts=None, memory="2GB,4MB").budgets() == [2_000_000_000, 4_000_000]


def test_presets_decide_only_what_the_plan_leaves_open() -> None:
    paper = plan(preset="paper").resolved
    assert (paper.settings()["anchors"], paper.anchor_strategy, paper.partitioner, paper.reconcile, paper.refine) == (
        "1%",
        "top-cut",
        "metis",
        "orthogonal",
        "none",
    )
    assert plan(preset="paper", anchor_strategy="random").resolved.anchor_strategy == "random"


@pytest.mark.parametrize(
    "graph",
    [
        parge.Graph.from_edges([], [], vertices=1),
        parge.Graph.from_edges([], [], vertices=5),
        parge.Graph.from_edges([0], [1], vertices=7),
        parge.Graph.from_edges(np.zeros(30, int), np.arange(1, 31)),
    ],
    ids=["one vertex", "no edge", "isolated vertices", "star"],
)
def test_odd_graphs_are_embedded(graph: parge.Graph, tmp_path: Path) -> None:
    found = parge.embed(graph, plan(parts=min(2, graph.n_vertices)))
    assert found.vectors.shape == (graph.n_vertices, 8)
    assert np.isfinite(found.vectors).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [("e.csv", r"parge\.read\('e\.csv'\)"), (Path("e.csv"), r"parge\.read"), (np.eye(3), "ndarray.*from_scipy")],
)
def test_what_is_no_graph_is_refused_with_a_remedy(given: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        pipeline.embed(given, parge.Plan(parts=2))  # type: ignore[arg-type]  # as `parge.embed` never does


def test_a_resolved_plan_embeds_as_the_plan_does() -> None:
    plan = parge.Plan(parts=2, technique=parge.DeepWalk(dim=8), engine="serial")
    graph = planted(200, 800, seed=1).graph
    assert np.array_equal(parge.embed(graph, plan.resolved).vectors, parge.embed(graph, plan).vectors)


def test_a_technique_may_be_named() -> None:
    named = parge.embed(GRAPH, parge.Plan(technique="hope", parts=2, engine="serial"))
    assert np.array_equal(named.vectors, parge.embed(GRAPH, parge.Plan(parge.HOPE(), parts=2, engine="serial")).vectors)


@pytest.mark.parametrize("technique", [parge.HOPE(dim=16), spectral])
def test_too_few_anchors_are_warned_of_once(technique: object) -> None:
    found = parge.embed(GRAPH, plan(technique=technique, parts=2, anchors=9))
    assert sum("9 anchors" in warning for warning in found.report.warnings) == 1
