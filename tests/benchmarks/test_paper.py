"""The paper's experiments run, stop and go on, and their tables hold what was computed beside what was printed."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from benchmarks.paper import datasets, experiments, published
from benchmarks.paper.cells import Cells, key, read_results
from benchmarks.paper.datasets import Counts, WrongCountsError, exactly
from benchmarks.paper.methods import METHODS, Settings
from benchmarks.paper.tables import TABLES, between, mean_sd, scaling, table_1, table_2, write_tables

# The techniques that an experiment is tried with here: enough to reach every line, and quick.
TRIED = {experiments.vertices: ("deepwalk", "hope"), experiments.links: ("hope",), experiments.parallelism: ()}
TINY = Settings(dim=8, walks=1, parts=2, counts=(2,), repeats=1, engine="serial")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all experiments on a tiny graph, one seed."""
    out = tmp_path_factory.mktemp("paper")
    run_all(out)
    return out


def run_all(out: Path) -> list[str]:
    """Run the experiments and return the cells that were computed."""
    reported: list[str] = []
    for run, techniques in TRIED.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(experiments, "TECHNIQUES", techniques)
            run(datasets.generated("Flickr", 200, 1200), TINY, 1, out, reported.append)
    return reported


@pytest.mark.slow
def test_every_cell_is_computed_once(results: Path) -> None:
    files = {path: path.read_bytes() for path in results.glob("*.json")}
    assert len(files) == 3
    assert run_all(results) == []
    assert files == {path: path.read_bytes() for path in results.glob("*.json")}


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(results: Path, tmp_path: Path) -> None:
    for path in results.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    source = next(tmp_path.glob("vertices-*.json"))
    content = json.loads(source.read_text())
    gone = key("hope", "Recon-S", 2, 0)
    before = content["cells"].pop(gone)
    source.write_text(json.dumps(content))
    assert run_all(tmp_path) == [f"{source.stem}: {gone}"]
    again = json.loads(source.read_text())["cells"][gone]
    assert again["micro_f1"] == before["micro_f1"]
    assert again["pip_per_vertex"] == pytest.approx(before["pip_per_vertex"])


@pytest.mark.slow
def test_cells_of_other_settings_are_not_mixed(results: Path) -> None:
    source = next(results.glob("links-*.json"))
    metadata = json.loads(source.read_text())
    with pytest.raises(SystemExit, match="--out"):
        Cells(source, {"settings": {**metadata["settings"], "dim": 99}})


@pytest.mark.slow
def test_cells_hold_what_the_tables_need(results: Path) -> None:
    (found,) = read_results(results, "vertices")
    floor = found.over_seeds("deepwalk", "centralised", 1)[0]["pip_per_vertex"]
    random = found.over_seeds("deepwalk", "random vectors", 1)[0]["pip_per_vertex"]
    assert 0 < floor < random
    assert found.over_seeds("hope", "centralised", 1)[0]["pip_per_vertex"] == pytest.approx(0, abs=1e-4)
    assert found.over_seeds("deepwalk", "Recon-S", 2)[0]["lost_edges"] > 0
    assert len(found.cells) == 2 * len(METHODS)
    (times,) = read_results(results, "parallelism")
    gained = scaling(times, "Recon-S", 2)
    assert gained["paper"][0] > 0
    cell = times.over_seeds("deepwalk", "Recon-S", 2)[0]
    assert cell["end_to_end_seconds"] > cell["paper_seconds"] > cell["slowest_worker"]


@pytest.mark.slow
def test_tables_stand_between_their_markers(results: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("top\n" + "\n".join(f"<!-- begin {name} -->old<!-- end {name} -->" for name in TABLES) + "\nend\n")
    write_tables(page, results)
    once = page.read_text()
    assert re.findall("begin ([^>]*) -->old", once) == ["table 1, SGC as it is"]  # of which there are no cells here
    assert "planted-200-1200 in the place of Flickr" in once
    assert "DeepWalk paper (Flickr)" in once
    assert "figures/figure-3-time.svg" in once
    assert once.startswith("top\n")
    assert once.endswith("\nend\n")
    write_tables(page, results)
    assert page.read_text() == once
    with pytest.raises(SystemExit, match="'x'"):
        between("text", "x", "y")


def test_the_papers_numbers_stand_alone_until_ours_are_there(tmp_path: Path) -> None:
    shown = table_1(tmp_path)
    assert "**BlogCatalog**" in shown
    assert "| Recon-S | – | – | .284 |" in shown
    assert "| NoRecon | – | 17.06 | – | 157.42 | – | 3.12 |" in table_2(tmp_path)


def test_means_are_over_seeds() -> None:
    assert mean_sd([0.2, None, 0.3]) == ".250 ± .071"
    assert mean_sd([10.0, 12.0], 1) == "11.0 ± 1.4"
    assert mean_sd([None]) == "–"


def test_the_page_has_a_place_for_every_table() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "explain" / "paper.md").read_text()
    for name in TABLES:
        assert f"<!-- begin {name} -->" in page
        assert f"<!-- end {name} -->" in page


@pytest.mark.slow
def test_plots_are_small_and_know_dark_screens(results: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need the extra 'plot'")
    from benchmarks.paper.plots import write_figures

    written = write_figures(results, tmp_path / "figures")
    assert [path.name for path in written] == ["figure-3-time.svg", "figure-4-memory.svg", "figure-5-f1.svg"]
    for path in written:
        assert path.stat().st_size < 300_000
        assert "prefers-color-scheme: dark" in path.read_text()
    assert write_figures(tmp_path, tmp_path / "none") == []


EDGES = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 0)])


def asu(folder: Path, name: str) -> None:
    place = folder / f"{name}-dataset" / "data"
    place.mkdir(parents=True)
    (place / "nodes.csv").write_text("".join(f"{v + 1}\n" for v in range(5)))
    (place / "edges.csv").write_text("".join(f"{u + 1},{v + 1}\n" for u, v in EDGES))
    (place / "group-edges.csv").write_text("1,1\n2,2\n5,2\n")


def mat(folder: Path, name: str) -> None:
    A = sp.csr_matrix((np.ones(len(EDGES)), EDGES.T), shape=(5, 5))
    group = sp.csr_matrix(np.array([[1, 0], [0, 1], [0, 0], [0, 0], [0, 1]], float))
    scipy.io.savemat(folder / f"{name.lower()}.mat", {"network": A + A.T, "group": group})


def snap(folder: Path, name: str, suffix: str = ".gz") -> None:
    lines = "# comment\n" + "".join(f"{u}\t{v}\n{v}\t{u}\n" for u, v in EDGES) + "3\t3\n"
    path = folder / f"{name}{suffix}"
    path.write_bytes(gzip.compress(lines.encode()) if suffix else lines.encode())


def mtx(folder: Path, name: str) -> None:
    scipy.io.mmwrite(folder / name, sp.coo_matrix((np.ones(len(EDGES)), (EDGES[:, 1], EDGES[:, 0])), shape=(5, 5)))


def youtube(folder: Path) -> None:
    mtx(folder, "soc-youtube.mtx")


def wikipedia(folder: Path) -> None:
    snap(folder, "wiki-topcats.txt")
    (folder / "wiki-topcats-categories.txt").write_text("Category:a; 0 1 4\nCategory:b; 2\n")


def livejournal(folder: Path) -> None:
    below = folder / "snap"
    below.mkdir()
    snap(below, "com-lj.ungraph.txt")
    (below / "com-lj.top5000.cmty.txt.gz").write_bytes(gzip.compress(b"2\t3\n0\t1\t4\n"))


COPIES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "BlogCatalog, csv": ("BlogCatalog", lambda folder: asu(folder, "BlogCatalog")),
    "Flickr, mat": ("Flickr", lambda folder: mat(folder, "Flickr")),
    "Arxiv": ("Arxiv", lambda folder: snap(folder, "ca-AstroPh.txt")),
    "Arxiv, plain": ("Arxiv", lambda folder: snap(folder, "CA-AstroPh.txt", "")),
    "Youtube": ("Youtube", youtube),
    "Wikipedia": ("Wikipedia", wikipedia),
    "LiveJournal": ("LiveJournal", livejournal),
}


@pytest.mark.parametrize("copy", COPIES)
def test_local_copies_are_read_and_counted(copy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, write = COPIES[copy]
    write(tmp_path)
    with pytest.raises(WrongCountsError, match=rf"{name}.* 5 .* 6\b"):
        datasets.load(name, tmp_path)
    monkeypatch.setitem(datasets.COUNTS, name, exactly(5, 6))
    data = datasets.load(name, tmp_path)
    assert (data.graph.n_vertices, data.graph.n_edges, data.stands_for) == (5, 6, name)
    assert (data.labels is None) == (name in ("Arxiv", "Youtube"))
    if data.labels is not None:
        assert data.labels.classes.size == 2
        assert set(data.labels.ids) <= set(data.graph.outside_ids)
    monkeypatch.setitem(datasets.COUNTS, name, Counts(5, (7, 9)))
    with pytest.raises(WrongCountsError, match="7 to 9 edges"):
        datasets.load(name, tmp_path)


def test_what_is_not_at_hand_is_replaced_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "generated", lambda name, n, m: datasets.Data("planted", name, None, None, "not it"))
    for name in published.DATASETS:
        assert datasets.local(name, tmp_path) is None
        assert datasets.load(name, tmp_path).note


@pytest.mark.shared
@pytest.mark.parametrize(("name", "file"), [("BlogCatalog", "blogcatalog"), ("Arxiv", "ca-AstroPh")])
def test_shared_copies_are_the_papers(name: str, file: str, shared: Callable[[str], Path]) -> None:
    data = datasets.load(name, shared(f"{file}.edges.gz").parent)
    assert not data.note
    assert data.name == file


def test_a_table_without_cells_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    before = "\n".join(f"<!-- begin {name} -->old<!-- end {name} -->" for name in TABLES)
    page.write_text(before)
    write_tables(page, tmp_path)
    assert page.read_text() == before
