"""Columns by option: the same in every format, in Python, and in every command that reads a graph."""

from pathlib import Path
from typing import Any

import click
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parge.cli.main import cli, run
from parge.cli.options import COLUMN_NAMES
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.io.graphs.read import read

TABLE: dict[str, list[Any]] = {
    "when": [2019, 2020, 2021],
    "amount": [0.5, 2.0, 1.5],
    "payer": ["ann", "bob", "cai"],
    "payee": ["bob", "cai", "dee"],
}
WANTED = {"source": "payer", "target": "payee", "weight": "amount"}
EDGES = {("ann", "bob"): 0.5, ("bob", "cai"): 2.0, ("cai", "dee"): 1.5}
MARKS = {"g.csv": ",", "g.tsv": "\t", "g.txt": ";", "pipes.csv": "|"}


def _edges(graph: Graph) -> dict[tuple[Any, Any], float]:
    table = graph.to_frame().to_pydict()
    weights = table.get("weight", [1.0] * graph.n_edges)
    return {(u, v): w for u, v, w in zip(table["source"], table["target"], weights, strict=True)}


def _write(folder: Path, name: str, *, header: bool = True) -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pq.write_table(pa.table(TABLE), path)
    else:
        rows = [list(TABLE)] if header else []
        rows += map(list, zip(*TABLE.values(), strict=True))
        path.write_text("".join(MARKS[name].join(map(str, row)) + "\n" for row in rows))
    return path


def _delimiter(name: str) -> dict[str, Any]:
    return {"delimiter": MARKS[name]} if MARKS.get(name) in {";", "|"} else {}


@pytest.mark.parametrize("name", [*MARKS, "g.parquet"])
def test_named_columns_mean_the_same_in_every_format(name: str, tmp_path: Path) -> None:
    path, how = _write(tmp_path, name), _delimiter(name)
    assert _edges(read(path, **WANTED, **how)) == EDGES
    how |= {} if name == "g.parquet" else {"header": True}
    numbers = {"source": "3", "target": "4", "weight": "2"}
    assert _edges(read(path, **numbers, **how)) == EDGES
    assert _edges(read(path, **WANTED, **how)) == _edges(Graph.from_frame(pa.table(TABLE), *WANTED.values()))
    assert read(path, source="payer", target="payee", weighted=False, **how).weights is None
    with pytest.raises(InputError, match=r"'paid'.*'when', 'amount', 'payer', 'payee'"):
        read(path, source="paid", target="payee", **how)
    with pytest.raises(InputError, match=r"source.*target"):
        read(path, source="payer", target="payer", **how)
    with pytest.raises(InputError, match="payee"):
        read(path, source="payer", target="payee", weight="payee", **how)


@pytest.mark.parametrize("name", MARKS)
def test_a_file_without_a_header_has_numbers(name: str, tmp_path: Path) -> None:
    path = _write(tmp_path, name, header=False)
    how = {"source": 3, "target": 4, "weight": 2, "header": False, "delimiter": MARKS[name]}
    assert _edges(read(path, **how)) == EDGES
    with pytest.raises(InputError, match="1 to 4"):
        read(path, **{**how, "source": "payer"})


def test_a_header_is_what_one_says(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("follower,followee\nann,bob\nbob,cai\n")
    assert read(path).n_edges == 3
    assert _edges(read(path, header=True)) == {("ann", "bob"): 1, ("bob", "cai"): 1}
    path.write_text("source,target\ntarget,other\n")
    assert read(path).n_edges == 1
    assert read(path, header=False).n_edges == 2


def test_quotes_hold_between_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text('"a;1";"b"\n"b";"c d"\n')
    assert _edges(read(path, delimiter="semicolon")) == {("a;1", "b"): 1, ("b", "c d"): 1}
    path.write_text('"b";"c d"\n"a;1;b\n')
    with pytest.raises(InputError, match="line 2"):
        read(path, delimiter=";")


@pytest.mark.parametrize("delimiter", ["", "ab", "x", "7", '"', "\n", "é", 3, True])
def test_what_cannot_separate_is_refused(delimiter: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="delimiter"):
        read(_write(tmp_path, "g.csv"), delimiter=delimiter)


@pytest.mark.parametrize("option", ["source", "target", "weight", "delimiter", "header"])
@pytest.mark.parametrize("name", ["g.npz", "g.graph", "g.graphml", "g.parquet"])
def test_formats_without_such_columns_refuse_the_option(name: str, option: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "g.graphml":
        path.write_text('<graphml><graph><node id="0"/><node id="1"/><edge source="0" target="1"/></graph></graphml>')
    elif name == "g.graph":
        path.write_text("2 1\n2\n1\n")
    else:
        from parge.io.graphs.write import write

        write(Graph.from_edges([0], [1]), path)
    given: Any = {"delimiter": ";", "header": True}.get(option, "amount")
    with pytest.raises(InputError, match=rf"--{option}|'amount'"):
        read(path, **{option: given})


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "reader": lambda table: pa.table(table).to_reader(max_chunksize=1),
    "record batch": pa.RecordBatch.from_pydict,
    "duckdb": lambda table: pytest.importorskip("duckdb").from_arrow(pa.table(table)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_library_are_read_by_name(kind: str) -> None:
    assert _edges(Graph.from_frame(FRAMES[kind](TABLE), **WANTED)) == EDGES
    plain = {"u": [0, 1, 2], "v": [1, 2, 3]}
    assert Graph.from_frame(FRAMES[kind](plain)).n_edges == 3


def test_a_query_of_duckdb_that_fails_is_an_input_error() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select cast(x as int) as source, 1 as target from (values ('1'), ('one')) t(x)")
    with pytest.raises(InputError, match="edges"):
        Graph.from_frame(relation)


def _graph_commands(group: Any = cli, prefix: tuple[str, ...] = ()) -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            found |= _graph_commands(command, (*prefix, name))
        elif command is not None and "vertices" in {p.name for p in command.params} and name != "generate":
            found[" ".join((*prefix, name))] = command
    return found


def test_every_command_that_reads_a_graph_has_the_options() -> None:
    commands = _graph_commands()
    assert {"plan", "embed", "decompose", "evaluate links", "evaluate bound", "demo"} <= set(commands)
    for name, command in commands.items():
        assert set(COLUMN_NAMES) <= {param.name for param in command.params}, name


def test_commands_read_the_columns_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path, "g.txt")
    words = ["--source", "payer", "--target", "payee", "--weight", "amount", "--delimiter", ";", "--header"]
    assert run(["plan", str(path), *words, "--technique", "sgc", "--dim", "2", "--json"]) == 0
    assert '"vertices": 4' in capsys.readouterr().out
    held = tmp_path / "held.txt"
    held.write_text("payer;payee\nann;dee\n")
    vectors = tmp_path / "v.npz"
    small = ["--technique", "sgc", "--dim", "2", "--engine", "serial"]
    assert run(["embed", str(path), "-o", str(vectors), *words, *small]) == 0
    scored = ["evaluate", "links", str(path), *words, "--embedding", str(vectors), "--held-out", str(held)]
    assert run([*scored, "--negatives", "uniform", "--json"]) == 0
    assert run(["plan", str(path), "--delimiter", "ab"]) == 2
