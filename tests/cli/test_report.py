"""``parge report``, ``embed --report`` and ``demo``: pages written, and bad requests refused."""

import json
import sys
from pathlib import Path

import pytest

from parge.cli import demo_steps
from parge.cli.main import run
from parge.embedding import Embedding
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.io.labels import write_labels

SMALL = ["--technique", "deepwalk", "--dim", "8", "--param", "walks=2", "--parts", "3", "--engine", "serial"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, its labels, a kept run and its embedding."""
    folder = tmp_path_factory.mktemp("reports")
    made = planted(200, 1200, communities=3, seed=2)
    write(made.graph, folder / "graph.txt")
    write_labels(folder / "labels.txt", made.graph.outside_ids, made.labels)
    args = ["embed", str(folder / "graph.txt"), "-o", str(folder / "v.npy"), "--run-dir", str(folder / "run"), *SMALL]
    assert run([*args, "--report", str(folder / "embed.html")]) == 0
    return folder


def test_embed_writes_a_page_with_the_graph_s_name_and_times(place: Path) -> None:
    page = (place / "embed.html").read_text()
    assert "<h1>graph.txt, embedded in 3 parts</h1>" in page
    assert " s of wall time" in page


def test_embed_writes_a_page_of_a_run_that_is_not_kept(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.npy"
    assert run(["embed", str(place / "graph.txt"), "-o", str(out), *SMALL, "--report", str(tmp_path / "r.html")]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.html", "v.ids.txt", "v.npy"]


def test_report_of_a_run_with_everything(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "links.json").write_text(json.dumps({"cosine": {"roc_auc": 0.5}}))
    args = ["report", str(place / "run"), "-o", str(tmp_path / "r.html"), "--labels", str(place / "labels.txt")]
    args += ["--embedding", str(place / "v.npy"), "--scores", str(tmp_path / "links.json"), "--title", "<Mine>"]
    assert run(args) == 0
    assert f"report: {tmp_path / 'r.html'}" in capsys.readouterr().out.replace("\n", "")
    page = (tmp_path / "r.html").read_text()
    assert "<h1>&lt;Mine&gt;, embedded in 3 parts</h1>" in page
    assert "cosine ROC-AUC" in page
    assert "micro-F1" in page
    assert 'data-by="label"' in page


@pytest.mark.slow
def test_demo_ends_with_a_page(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["demo", "--graph", str(place / "graph.txt"), "--labels", str(place / "labels.txt")]
    assert run([*args, "--parts", "2", "--dim", "8", "-o", str(tmp_path / "demo")]) == 0
    said = capsys.readouterr().out
    assert "report.html" in said
    assert "Your own graph: parge embed" in said
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "Parts against the whole graph" in page
    assert "graph.txt, embedded in 2 parts" in page


@pytest.mark.slow
def test_the_demo_is_refused_killed_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a small graph, with a limit that even this one is refused under: the bound of a part is left aside."""
    monkeypatch.chdir(tmp_path)
    for name, size in (("_VERTICES", 900), ("_EDGES", 6000), ("_COMMUNITIES", 4)):
        monkeypatch.setattr(f"parge.cli.demo.{name}", size)
    assert run(["demo", "--dim", "8"]) == 0
    said = capsys.readouterr().out
    if sys.platform == "linux":
        assert "not need parts" in said
        assert demo_steps.limited(["embed-part", "no-such-part"])[0].startswith("Error")
        monkeypatch.setattr(demo_steps, "LIMIT", "40MB")
        assert "memory" in " ".join(demo_steps.limited(["plan", "demo/graph.txt", "--parts", "2"])).lower()
    assert "of 8 parts done; resumed" in said
    assert "of the whole graph's micro-F1" in said
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "embedding.parquet",
        "graph.txt",
        "labels.txt",
        "report.html",
    ]
    vectors = Embedding.load(tmp_path / "demo" / "embedding.parquet")
    assert len(vectors) == 900


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("v.npy", ["--technique", "hope", "--dim", "4", "--parts", "3"], "4 dimensions, the run has 8"),
        ("v.parquet", ["--technique", "hope", "--dim", "8", "--parts", "3"], "hope as technique, the run has deepwalk"),
        ("v.npz", [*SMALL, "--seed", "7"], "7 as seed, the run has 0"),
    ],
)
def test_embeddings_of_another_run_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, settings: list[str], message: str
) -> None:
    out = str(tmp_path / name)
    assert run(["embed", str(place / "graph.txt"), "-o", out, *settings, "--engine", "serial"]) == 0
    capsys.readouterr()
    assert run(["report", str(place / "run"), "-o", str(tmp_path / "r.html"), "--embedding", out]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["report", "RUN"], "--out"),
        (["report", "no-such-run", "-o", "OUT"], "no-such-run"),
        (["report", ".", "-o", "OUT"], "holds no run"),
        (["report", "RUN", "-o", "x.pdf"], "end in .html"),
        (["report", "RUN", "-o", "no/such/x.html"], "does not exist"),
        (["report", "RUN", "-o", "OUT", "--labels", "no-such.txt"], "no-such.txt"),
        (["report", "RUN", "-o", "OUT", "--embedding", "no-such.npy"], "no-such.npy"),
        (["report", "RUN", "-o", "OUT", "--scores", "no-such.json"], "no-such.json"),
        (["report", "RUN", "-o", "OUT", "--scores", "list.json"], "one JSON object"),
        (["report", "RUN", "-o", "OUT", "--scores", "broken.json"], "parge evaluate"),
        *(
            (["report", "RUN", "-o", "OUT", "--scores", f"{name}.json"], message)
            for name, message in (
                ("digits", "thousands of digits"),
                ("deep", "nested"),
                ("nested", "nested more than 4"),
                ("latin", "not UTF-8"),
                ("words", "no number"),
                ("numbers", "a list in it"),
                ("many", "holds 1,001"),
            )
        ),
        (["report", "RUN", "-o", "OUT", "--projection", "magic"], "magic"),
        (["embed", "GRAPH", "-o", "v.npy", "--report", "x.pdf"], "end in .html"),
    ],
)
def test_refusals(
    args: list[str],
    message: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "digits.json").write_text('{"a": ' + "1" * 5000 + "}")
    (tmp_path / "deep.json").write_text('{"a": ' * 100_000)
    (tmp_path / "nested.json").write_text('{"a": ' * 6 + "1" + "}" * 6)
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    (tmp_path / "words.json").write_text('{"a": {"b": "c", "d": true}}')
    (tmp_path / "numbers.json").write_text('{"a": [1, 2]}')
    (tmp_path / "many.json").write_text("{" + ", ".join(f'"{i}": {i}' for i in range(1001)) + "}")
    named = {"RUN": str(place / "run"), "GRAPH": str(place / "graph.txt"), "OUT": "x.html"}
    assert run([named.get(word, word) for word in args]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert not {"sys.set_int_max_str_digits", "recursion"} & set(printed.err.split())
    assert not list(tmp_path.glob("*.html"))
