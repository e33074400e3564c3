"""One line of Python: whatever holds a graph, fields of the plan and settings of the technique as keywords."""

import inspect
import typing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import igraph
import networkx
import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import parge
from parge.decompose.decomposition import Decomposition
from parge.decompose.registry import partitioners, strategies
from parge.engine.base import engines
from parge.errors import InputError, UnknownNameError
from parge.graph.generate import planted
from parge.planning import names
from parge.planning.plan import PRESETS
from parge.reconcile.base import reconcilers
from parge.refine.base import refiners
from parge.run import pipeline

MADE = planted(80, 320, communities=3, mixing=0.1, seed=1)
GRAPH = MADE.graph
PLAN = parge.Plan(technique=parge.HOPE(dim=4), parts=2, anchors=10, engine="serial", seed=3)
SAME: dict[str, Any] = {"technique": "hope", "dim": 4, "parts": 2, "anchors": 10, "engine": "serial", "seed": 3}
FRAME = GRAPH.to_frame()


@pytest.fixture(scope="module")
def expected() -> parge.Embedding:
    return pipeline.embed(GRAPH, PLAN)


class Tensor:
    """What torch gives, without torch."""

    def __init__(self, values: Any) -> None:
        self.values, self.shape = values, values.shape

    def detach(self) -> "Tensor":
        return self

    cpu = detach

    def numpy(self) -> Any:
        return self.values


class Data:
    """What PyG gives, without PyG."""

    edge_index = Tensor(GRAPH.to_pyg())
    num_nodes = GRAPH.n_vertices


ENDS = FRAME["source"].to_numpy(), FRAME["target"].to_numpy()
SOURCES = {
    "graph": GRAPH,
    "arrow": FRAME,
    "pandas": FRAME.to_pandas(),
    "polars": polars.from_arrow(FRAME),
    "networkx": GRAPH.to_networkx(),
    "igraph": GRAPH.to_igraph(),
    "scipy": GRAPH.to_scipy(),
    "sparse array": sp.coo_array(GRAPH.to_scipy()),
    "dense": GRAPH.to_scipy().toarray(),
    "edge_index": GRAPH.to_pyg(),
    "tensor": Tensor(GRAPH.to_pyg()),
    "data": Data(),
    "pairs": list(zip(*(end.tolist() for end in ENDS), strict=True)),
    "array of pairs": np.stack(ENDS, axis=1),
    "ends": ENDS,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_whatever_holds_a_graph_is_one(kind: str) -> None:
    found = parge.as_graph(SOURCES[kind])
    assert np.array_equal(found.outside_ids, GRAPH.outside_ids)
    assert (found.to_scipy() != GRAPH.to_scipy()).nnz == 0


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_path_and_keywords_are_the_graph_and_the_plan(suffix: str, tmp_path: Path, expected: parge.Embedding) -> None:
    path = tmp_path / f"edges{suffix}"
    if suffix == ".csv":
        FRAME.to_pandas().to_csv(path, index=False)
    else:
        parquet.write_table(FRAME, path)
    for source in (path, str(path)):
        found = parge.embed(source, **SAME)
        assert np.array_equal(found.vectors, expected.vectors)
        assert found.report.plan == expected.report.plan


def test_a_plan_is_taken_as_ever_and_keywords_change_it(expected: parge.Embedding) -> None:
    assert np.array_equal(parge.embed(GRAPH, PLAN).vectors, expected.vectors)
    assert np.array_equal(parge.embed(GRAPH, replace(PLAN, seed=9), seed=3).vectors, expected.vectors)
    assert np.array_equal(parge.embed(GRAPH, PLAN.resolved, dim=4).vectors, expected.vectors)
    assert parge.embed(GRAPH, PLAN, dim=3).dim == 3
    assert parge.embed(GRAPH, PLAN, workers=1).report.plan.workers == 1


def test_how_a_graph_is_read_is_a_keyword_too() -> None:
    frame = pandas.DataFrame({"a": ENDS[0], "b": ENDS[1], "minutes": np.arange(1.0, len(ENDS[0]) + 1)})
    found = parge.embed(frame, PLAN, source="a", target="b", weight="minutes")
    weighted = parge.Graph.from_edges(*ENDS, frame["minutes"])
    assert np.array_equal(found.vectors, parge.embed(weighted, PLAN).vectors)


def squares(csr: Any, rng: np.random.Generator, dim: int = 2, power: float = 1.0) -> Any:
    return np.asarray(csr.sum(axis=1)) ** power * np.ones((1, dim))


def anything(csr: Any, rng: np.random.Generator, **settings: Any) -> Any:
    return np.full((csr.shape[0], 2), settings["level"])


def test_settings_of_one_s_own_function_are_passed_by_name() -> None:
    found = parge.embed(GRAPH, technique=squares, dim=3, power=2.0, engine="serial")
    assert np.array_equal(found.vectors, np.repeat(GRAPH.degrees[:, None] ** 2.0, 3, axis=1).astype(np.float32))
    assert (parge.embed(GRAPH, technique=anything, level=7, engine="serial").vectors == 7).all()


@pytest.mark.parametrize(
    ("given", "cure"),
    [
        ((GRAPH, "hope"), "technique='hope'"),
        ((GRAPH, "hop"), "technique=NAME"),
        ((GRAPH, parge.HOPE(dim=4)), "technique=HOPE(dim=4"),
        ((GRAPH, squares), "technique=squares"),
        ((GRAPH, 8), "parts=8"),
        ((3,), "int"),
        (("",), "empty"),
        ((None,), "NoneType"),
        (([(1, 2), (3,)],), "list"),
        ((np.ones((2, 2)),), "(2, 2)"),
    ],
)
def test_a_slip_in_the_arguments_is_told_with_its_cure(given: tuple[Any, ...], cure: str) -> None:
    with pytest.raises(InputError) as raised:
        parge.embed(*given)
    assert cure in str(raised.value)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("dimensions", "dim"),
        ("n_components", "dim"),
        ("part", "parts"),
        ("anchor_stratgy", "anchor_strategy"),
        ("n_jobs", "jobs"),
        ("random_state", "seed"),
        ("num_walks", "walks"),
        ("method", "technique"),
        ("verbose", "progress"),
    ],
)
@pytest.mark.parametrize("call", [parge.embed, parge.plan, parge.decompose], ids=["embed", "plan", "decompose"])
def test_a_misspelt_keyword_names_the_one_that_is_meant(call: Any, slip: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{slip!r}.* mean {meant}[?]"):
        call(GRAPH, **{slip: 3})
    assert issubclass(UnknownNameError, TypeError)  # as Python itself would say


def test_a_misspelt_field_of_a_plan_names_the_one_that_is_meant() -> None:
    with pytest.raises(UnknownNameError, match=r"part'.* mean parts[?]"):
        parge.Plan(part=3)
    with pytest.raises(UnknownNameError, match=r"DeepWalk\(dim=64\)"):
        parge.Plan(dim=3)


def test_options_of_reading_are_refused_where_nothing_is_read() -> None:
    with pytest.raises(UnknownNameError, match="read already"):
        parge.embed(GRAPH, weight="minutes")
    with pytest.raises(UnknownNameError, match=r"mean weight[?]"):
        parge.as_graph(FRAME, weights="minutes")


@pytest.mark.parametrize("call", [parge.embed, parge.plan, parge.decompose], ids=["embed", "plan", "decompose"])
def test_calls_name_every_field_of_a_plan(call: Any) -> None:
    named = inspect.signature(call).parameters
    assert {field.name for field in fields(parge.Plan)} <= set(named)
    assert all(named[field.name].default is None for field in fields(parge.Plan))


def test_the_words_of_the_types_are_those_of_the_registries() -> None:
    for typed, known in [
        (names.AnchorStrategy, strategies.names()),
        (names.Partitioner, partitioners.names()),
        (names.ReconcilerName, ["auto", *reconcilers.shipped()]),
        (names.RefinerName, ["auto", *refiners.shipped()]),
        (names.Preset, list(PRESETS)),
        (names.EngineName, engines.names()),
    ]:
        assert set(typing.get_args(typed)) <= set(known)


def test_a_plan_is_the_table_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from parge.cli.main import run

    path = tmp_path / "edges.parquet"
    parquet.write_table(FRAME, path)
    found = parge.plan(path, technique="hope", dim=4, parts=2, anchors=10)
    assert run(["plan", str(path), *["--technique", "hope", "--dim", "4", "--parts", "2", "--anchors", "10"]]) == 0
    printed = capsys.readouterr().out.splitlines()
    table = [line for line in repr(found).splitlines() if "│" in line]
    assert [line.split("│")[1:7] for line in table] == [line.split("│")[1:7] for line in printed if "│" in line]
    assert found.parts[0].vertices + found.parts[1].vertices == GRAPH.n_vertices + 10
    assert found.verdict in " ".join(repr(found).split("\n"))
    assert "<table>" in found._repr_html_()


def test_decompose_is_a_call_and_a_room(tmp_path: Path) -> None:
    import parge.decompose.anchors
    import parge.report.page

    found = parge.decompose(GRAPH, PLAN)
    assert isinstance(found, Decomposition)
    assert found.n_parts == 2
    assert parge.decompose.anchors.__name__ == "parge.decompose.anchors"  # type: ignore[attr-defined]
    assert parge.report.page.__name__ == "parge.report.page"  # type: ignore[attr-defined]
    kept = parge.decompose(GRAPH, PLAN, run_dir=tmp_path / "run")
    assert np.array_equal(kept.part, found.part)
    assert sorted(path.name for path in (tmp_path / "run" / "parts").iterdir()) == ["000", "001"]


def test_a_page_of_an_embedding_and_of_its_run(tmp_path: Path, expected: parge.Embedding) -> None:
    labels = {v: [f"<b>{v % 3}"] for v in range(80)}
    found = parge.embed(GRAPH, PLAN, run_dir=tmp_path / "run")
    of_a_run = ["glance", "map", "decomposition", "workers", "reconciling", "plan"]
    for result, given, ids in [
        (found, {"labels": labels}, [*of_a_run[:2], "scores", *of_a_run[2:]]),
        (found, {"run": tmp_path / "run"}, of_a_run),
        (tmp_path / "run", {}, of_a_run),
        (parge.Embedding(np.eye(4), ["<i>", "b", "c", "d"]), {"scores": {"x": {"micro_f1": 0.5}}}, ["map", "scores"]),
    ]:
        page = parge.report(result, tmp_path / "page.html", title="<u>", projection="pca", **given).read_text()
        assert [part.split('"')[0] for part in page.split('<section id="')[1:]] == ids
        assert "<u>" not in page
        assert "<i>" not in page.replace("\\u003ci\\u003e", "")
    with pytest.raises(InputError, match="html"):
        parge.report(expected, tmp_path / "page.txt")
    with pytest.raises(InputError, match="int"):
        parge.report(3, tmp_path / "page.html")
    with pytest.raises(InputError, match="no vector"):
        parge.report(parge.Embedding(np.zeros((0, 2)), []), tmp_path / "empty.html")


def test_the_graphs_of_other_libraries_keep_their_names_and_weights() -> None:
    graph = networkx.Graph()
    graph.add_edge("ann", "bob", km=2.0)
    graph.add_edge("bob", "cid", km=3.0)
    found = parge.as_graph(graph, weight="km")
    assert found.outside_ids.tolist() == ["ann", "bob", "cid"]
    assert sorted(set(found.weights.tolist())) == [2.0, 3.0]
    named = igraph.Graph.TupleList([("ann", "bob")])
    assert parge.as_graph(named).outside_ids.tolist() == ["ann", "bob"]


def test_a_frame_is_read_with_the_options_of_a_file() -> None:
    frame = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0]})
    found = parge.as_graph(frame, vertices=["a", "b", "c", "alone"], weighted=False)
    assert (found.n_vertices, found.weights) == (4, None)


def test_a_page_replaces_pages_of_parge_only(tmp_path: Path, expected: parge.Embedding) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>theirs</html>")
    with pytest.raises(InputError, match="overwrite"):
        parge.report(expected, page, projection="pca")
    assert page.read_text() == "<html>theirs</html>"
    parge.report(expected, page, projection="pca", overwrite=True)
    parge.report(expected, page, projection="pca", title="again")
    assert "again" in page.read_text()
    with pytest.raises(UnknownNameError, match=r"mean labels[?]"):
        parge.report(expected, page, label="labels.csv")


def test_a_page_is_about_one_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one run"):
        parge.report(tmp_path, tmp_path / "page.html", run=tmp_path)


def test_a_plan_tells_its_listener_what_it_does() -> None:
    heard: list[Any] = []
    parge.plan(GRAPH, technique="hope", parts=2, dim=4, anchors=8, listener=heard.append, progress=False)
    assert {event.stage for event in heard} >= {"decompose"}


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    found = parge.embed(GRAPH, technique="sgc", dim=4, seed=np.int64(3), run_dir=tmp_path / "run", progress=False)
    assert np.array_equal(found.vectors, parge.embed(GRAPH, technique="sgc", dim=4, seed=3, progress=False).vectors)


def test_folders_and_pages_are_on_this_machine_and_messages_hold_no_secret(tmp_path: Path) -> None:
    url = "s3://key:s3cret@bucket/x"
    embedding = parge.embed(GRAPH, technique="sgc", dim=4, progress=False)
    for call in (
        lambda: parge.embed(GRAPH, technique="sgc", dim=4, run_dir=url, progress=False),
        lambda: parge.report(embedding, f"{url}.html"),
        lambda: parge.Embedding.load(f"{url}.csv"),
        lambda: parge.Embedding.load(Path(f"{url}.csv")),
    ):
        with pytest.raises(InputError, match="bucket") as refused:
            call()
        assert "s3cret" not in str(refused.value)
    assert parge.report(embedding, f"file://{tmp_path}/page.html").exists()
