"""Many questions at once: exact and through an index agree, by cosine, inner product and links; and the command."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import parge
from parge.cli.main import run
from parge.embedding import Embedding
from parge.errors import InputError
from parge.graph.generate import planted
from parge.space import search as module
from parge.space.search import search, search_unknown

ROWS = np.random.default_rng(2).standard_normal((500, 12)).astype(np.float32)
NAMED = Embedding(ROWS * np.linspace(0.1, 3, 500, dtype=np.float32)[:, None], [f"v{i}" for i in range(500)])


def _plain(embedding: Embedding, row: int, k: int, metric: str) -> list[str]:
    rows = embedding.vectors.astype(np.float64)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True) if metric == "cosine" else rows
    scores = rows @ rows[row]
    scores[row] = -np.inf
    return list(embedding.ids[np.argsort(-scores, kind="stable")[:k]].tolist())


@pytest.mark.parametrize("metric", ["cosine", "ip"])
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_many_are_those_of_one_by_one(metric: str, method: str) -> None:
    if method == "approximate":
        pytest.importorskip("usearch")
    found = search(NAMED, ["v7", "v499", "v0"], 6, metric=metric, method=method)  # type: ignore[arg-type]
    assert found.ids.tolist() == [_plain(NAMED, row, 6, metric) for row in (7, 499, 0)]
    assert found.is_exact == (method == "exact")
    again = search(NAMED, ["v7", "v499", "v0"], 6, metric=metric, method="exact")  # type: ignore[arg-type]
    assert np.allclose(found.scores, again.scores, atol=1e-5)


def test_an_index_finds_nearly_all_and_the_same_every_time() -> None:
    pytest.importorskip("usearch")
    exact, near = (search(NAMED, NAMED.ids, 10, method=method) for method in ("exact", "approximate"))  # type: ignore[arg-type]
    shared = [len({*a} & {*b}) / 10 for a, b in zip(exact.ids.tolist(), near.ids.tolist(), strict=True)]
    assert np.mean(shared) > 0.95
    again = search(NAMED, NAMED.ids, 10, method="approximate")
    assert again.ids.tolist() == near.ids.tolist()
    few = search(Embedding(ROWS[:3], np.arange(3)), [0, 2], 10, method="approximate")
    assert few.ids.shape == (2, 2)


def test_links_are_compared_exactly() -> None:
    graph = planted(200, 1200, communities=4, seed=1).graph
    embedding = parge.embed(graph, parge.Plan(technique=parge.SGC(dim=8), engine="serial"))
    found = search(embedding, [3, 5], 5, task="links")
    assert found.ids.tolist() == [embedding.neighbors(v, 5, task="links")[0].tolist() for v in (3, 5)]
    with pytest.raises(InputError, match="links"):
        search(embedding, [3], task="links", method="approximate")


def test_an_index_is_built_for_many_questions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usearch")
    assert search(NAMED, NAMED.ids, 2).is_exact
    monkeypatch.setattr(module, "_QUESTIONS", 100)
    assert search(NAMED, NAMED.ids, 2).is_exact
    monkeypatch.setattr(module, "_ROWS", 100)
    assert not search(NAMED, NAMED.ids, 2).is_exact
    assert search(NAMED, ["v1"], 2).is_exact


@pytest.mark.parametrize("wrong", [{"k": 0}, {"metric": "l2"}, {"method": "fast"}, {"task": "x"}, {"ids": ["no"]}])
def test_odd_questions_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        search(NAMED, **{"ids": ["v1"], **wrong})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="metric"):
        search(NAMED, ["v1"], task="links", metric="ip")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    NAMED.save("v.npz")
    Path("ids.txt").write_text("v7\nv8\n")
    assert run(["neighbors", "v.npz", "v7", "v8", "-k", "3", "--json"]) == 0
    several = json.loads(capsys.readouterr().out)["vertices"]
    assert [[near["vertex"] for near in row["neighbors"]] for row in several] == [
        _plain(NAMED, row, 3, "cosine") for row in (7, 8)
    ]
    assert run(["neighbors", "v.npz", "v7", "-k", "3", "--metric", "ip", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert [near["vertex"] for near in one["neighbors"]] == _plain(NAMED, 7, 3, "ip")
    assert run(["neighbors", "v.npz", "--of", "ids.txt"]) == 0
    assert run(["neighbors", "v.npz", "--of", "all", "-k", "2", "-o", "near.parquet"]) == 0
    table = pq.read_table("near.parquet")
    assert table.column_names == ["vertex", "neighbor", "cosine"]
    assert table["neighbor"].to_pylist()[14:16] == _plain(NAMED, 7, 2, "cosine")
    assert run(["neighbors", "v.npz", "--of", "all", "-k", "2", "-o", "near.parquet"]) == 0
    before = Path("v.npz").read_bytes()
    pq.write_table(table.replace_schema_metadata(None), "mine.parquet")
    for words in (
        ["v.npz"],
        ["v.npz", "v7", "--of", "ids.txt"],
        ["v.npz", "no-such"],
        ["v.npz", "--of", "no-such.txt"],
        ["v.npz", "v7", "-o", "v.npz", "--overwrite"],
        ["v.npz", "--of", "ids.txt", "-o", "ids.txt", "--overwrite"],
        ["v.npz", "v7", "-o", "mine.parquet"],
        ["v.npz", "--of", "all", "-k", "499"],
    ):
        assert run(["neighbors", *words]) == 2, words
    assert Path("v.npz").read_bytes() == before


def test_placed_vertices_are_looked_up_among_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    NAMED.save("old.npz")
    Embedding(ROWS[[3, 40]], ["zoe", "yan"]).save("new.npz")
    Embedding(ROWS[[3, 40], :4], ["zoe", "yan"]).save("narrow.npz")
    assert run(["neighbors", "old.npz", "zoe", "--placed", "new.npz", "-k", "2", "--json"]) == 0
    near = json.loads(capsys.readouterr().out)["neighbors"]
    assert [one["vertex"] for one in near] == ["v3", _plain(NAMED, 3, 1, "cosine")[0]]
    assert run(["neighbors", "old.npz", "--of", "all", "--placed", "new.npz", "-k", "1", "-o", "near.parquet"]) == 0
    assert pq.read_table("near.parquet").to_pydict()["neighbor"] == ["v3", "v40"]
    for refused in (
        ["v3", "--placed", "new.npz"],
        ["zoe", "--placed", "narrow.npz"],
        ["zoe", "--placed", "new.npz", "--for", "links"],
    ):
        assert run(["neighbors", "old.npz", *refused]) == 2
    assert run(["neighbors", "old.npz", "zoe", "--placed", "new.npz", "-o", "new.npz"]) == 2


def test_known_edges_are_left_out_and_the_order_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ASKED_AT_ONCE", 7)
    graph = planted(60, 500, communities=3, mixing=0.2, seed=1).graph
    rows = np.random.default_rng(3).standard_normal((60, 5))
    embedding = Embedding(rows, graph.outside_ids)
    found = search_unknown(lambda ids, k: search(embedding, ids, k), embedding.ids, 4, graph)
    everybody = search(embedding, embedding.ids, 59).ids
    for row, (near, all_near) in enumerate(zip(found.ids.tolist(), everybody.tolist(), strict=True)):
        known = set(graph.indices[graph.indptr[row] : graph.indptr[row + 1]].tolist())
        assert near == [other for other in all_near if other not in known][:4]


def test_the_command_leaves_out_known_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Embedding(ROWS[:5], ["a", "b", "c", "d", "e"]).save("v.npz")
    Path("g.csv").write_text("source,target\na,b\nc,a\na,d\nx,y\n")
    words = ["neighbors", "v.npz", "a", "b", "--except", "g.csv", "-k", "3"]
    assert run([*words, "--json"]) == 0
    of_a, of_b = json.loads(capsys.readouterr().out)["vertices"]
    assert [near["vertex"] for near in of_a["neighbors"]] == ["e"], "fewer than asked for, as no more are left"
    assert {near["vertex"] for near in of_b["neighbors"]} == {"c", "d", "e"}
    assert run([*words, "-o", "near.parquet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"vertices": 2, "out": "near.parquet"}
    table = pq.read_table("near.parquet").to_pydict()
    assert table["vertex"] == ["a", "b", "b", "b"]
    assert run([*words, "--method", "approximate"]) == 2
    Path("other.csv").write_text("source,target\nx,y\n")
    assert run(["neighbors", "v.npz", "a", "--except", "other.csv"]) == 2
    assert "none of these vertices" in capsys.readouterr().err


def test_known_edges_are_read_from_any_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Embedding(ROWS[:4], ["a", "b", "c", "d"]).save("v.npz")
    Path("g.csv").write_text("when;who;whom\n2020;a;b\n2021;c;a\n")
    words = ["neighbors", "v.npz", "a", "-k", "3", "--json", "--source", "who", "--target", "whom"]
    assert run([*words, "--except", "g.csv", "--delimiter", ";", "--header"]) == 0
    assert [near["vertex"] for near in json.loads(capsys.readouterr().out)["neighbors"]] == ["d"]
    assert run([*words, "--except", "g.csv", "--delimiter", ";", "--source", "nobody"]) == 2
    assert "--source" in capsys.readouterr().err
    assert run(words) == 0
    assert "--source has no effect" in capsys.readouterr().err


def test_an_option_whose_file_has_no_edges_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("g.txt").write_text("".join(f"{i} {(i + step) % 20}\n" for i in range(20) for step in (1, 2)))
    assert run(["embed", "g.txt", "-o", "v.npz", "--technique", "hope", "--dim", "4", "--space", "s"]) == 0
    for content in ("", "3 3\n"):
        Path("none.txt").write_text(content)
        for words in (["neighbors", "v.npz", "1", "--except"], ["update", "s", "-o", "t", "--removed"]):
            capsys.readouterr()
            assert run([*words, "none.txt"]) == 2
            said = capsys.readouterr().err
            assert words[-1] in said
            assert "--vertices" not in said, "which is for graphs"
