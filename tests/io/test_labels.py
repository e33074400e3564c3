"""Labels are read whatever their order and spelling, and keyed by id."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.classification import classify
from parge.evaluate.labels import Labels, read_labels


def as_dict(labels: Labels) -> dict[object, set[object]]:
    dense = labels.indicator.toarray()
    return {v: set(labels.classes[row].tolist()) for v, row in zip(labels.ids.tolist(), dense, strict=True)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 20\n1 7 20\n", {0: {20}, 1: {7, 20}}),
        ("b\tred\na\tblue  red\n", {"a": {"blue", "red"}, "b": {"red"}}),
        ("1,5\n1,6\n2,5\n", {1: {5, 6}, 2: {5}}),
        ("# comment\n% another\n\n3 1\n4\n3 1\n", {3: {1}}),
        ("\ufeff1 a\r\n2 b\r\n", {1: {"a"}, 2: {"b"}}),
        ("007 x\n7 y\n", {"007": {"x"}, "7": {"y"}}),
        ("9 10\n10 9", {9: {10}, 10: {9}}),
    ],
)
def test_files_are_read(tmp_path: Path, text: str, expected: dict[object, set[object]]) -> None:
    (tmp_path / "labels.txt").write_text(text)
    found = read_labels(tmp_path / "labels.txt", label_column="all")
    assert as_dict(found) == expected
    assert found.counts.tolist() == [len(expected[v]) for v in found.ids.tolist()]
    (tmp_path / "labels.gz").write_bytes(gzip.compress(text.encode()))
    assert as_dict(read_labels(tmp_path / "labels.gz", label_column="all")) == expected
    if max(map(len, expected.values())) == 1 or "," in text:
        assert as_dict(read_labels(tmp_path / "labels.txt")) == expected


@pytest.mark.parametrize("content", [b"", b"# only\n", b"1\n2\n", b"\xff\xfe1 2\n"])
def test_files_without_labels_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as failure:
        read_labels(path)
    assert str(path) in str(failure.value)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "l.csv",
            '"New York",big city\n"New York",old\n"Paris, Texas", small\n',
            {"New York": {"big city", "old"}, "Paris, Texas": {"small"}},
        ),
        ("l.csv", "id,label,age\nann,red,7\nbob,blue,8\n", {"ann": {"red"}, "bob": {"blue"}}),
        ("l.csv", "user,team\n1,red\n2,blue\n", {1: {"red"}, 2: {"blue"}}),
        ("l.csv", "1,5\n1,6\n2,5\n", {1: {5, 6}, 2: {5}}),
        ("l.csv", "1 5\n1 6\n2 5\n", {1: {5, 6}, 2: {5}}),
        ("l.tsv", "# by hand\nid\tlabel\nNew York\tbig, old\n", {"New York": {"big, old"}}),
    ],
)
def test_tables_keep_blanks_and_commas(
    tmp_path: Path, name: str, text: str, expected: dict[object, set[object]]
) -> None:
    (tmp_path / name).write_text(text)
    assert as_dict(read_labels(tmp_path / name)) == expected
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert as_dict(read_labels(tmp_path / f"{name}.gz")) == expected


CORA = "id,subject,year\nann,nets,1999\nbob,rules,1999\ncy,nets,1999\n"
ONE = {"ann": {"nets"}, "bob": {"rules"}, "cy": {"nets"}}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".parquet"])
def test_one_column_of_a_table_is_the_label(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"labels{suffix}"
    if suffix == ".parquet":
        columns = zip(*(line.split(",") for line in CORA.splitlines()), strict=True)
        pq.write_table(pa.table({name: values for name, *values in columns}), path)
    else:
        path.write_text(CORA.replace(",", {".tsv": "\t", ".txt": " "}.get(suffix, ",")))
    found = read_labels(path)
    assert as_dict(found) == ONE
    assert any("'year'" in notice for notice in found.notices)
    assert as_dict(read_labels(path, label_column="subject")) == ONE
    assert as_dict(read_labels(path, label_column="2", id_column="1")) == ONE
    assert {*map(str, as_dict(read_labels(path, label_column="subject,year"))["ann"])} == {"nets", "1999"}
    assert {*map(str, as_dict(read_labels(path, label_column="all"))["ann"])} == {"nets", "1999"}
    with pytest.raises(InputError, match="'id', 'subject', 'year'"):
        read_labels(path, label_column="sujbect")


@pytest.mark.parametrize("mark", [" ", "\t", ","])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ""])
def test_lines_with_as_many_fields_each_are_refused_until_asked(tmp_path: Path, mark: str, suffix: str) -> None:
    path = tmp_path / f"labels{suffix}"
    path.write_text("0 3 1999\n1 4 1999\n2 4 1999\n".replace(" ", mark))
    with pytest.raises(InputError, match=r"--label-column 2 .*--label-column all"):
        read_labels(path)
    assert as_dict(read_labels(path, label_column="2")) == {0: {3}, 1: {4}, 2: {4}}
    assert as_dict(read_labels(path, label_column="all")) == {0: {3, 1999}, 1: {4, 1999}, 2: {4, 1999}}


RAGGED = "# by hand\n0 3\n\n1 4\n2 4 1999 7\n3 5 6\n"


@pytest.mark.parametrize(("suffix", "mark"), [(".csv", ","), (".tsv", "\t")])
def test_one_line_of_more_fields_does_not_make_labels_of_a_table(tmp_path: Path, suffix: str, mark: str) -> None:
    path = tmp_path / f"labels{suffix}"
    path.write_text(RAGGED.replace(" ", mark))
    with pytest.raises(InputError, match=r"line 5: 4 fields.*--label-column 2 .*--label-column all"):
        read_labels(path)
    assert as_dict(read_labels(path, label_column="2")) == {0: {3}, 1: {4}, 2: {4}, 3: {5}}
    assert as_dict(read_labels(path, label_column="all")) == {0: {3}, 1: {4}, 2: {4, 1999, 7}, 3: {5, 6}}


@pytest.mark.parametrize("mark", [" ", "\t", ","])
@pytest.mark.parametrize("suffix", [".txt", "", ".labels"])
def test_lines_of_a_vertex_and_its_labels_are_read_and_told(tmp_path: Path, mark: str, suffix: str) -> None:
    """The format of multi-label data sets, ``vertex label [label ...]``, needs no option; nor is it read silently."""
    path = tmp_path / f"labels{suffix}"
    path.write_text(RAGGED.replace(" ", mark))
    found = read_labels(path)
    assert as_dict(found) == {0: {3}, 1: {4}, 2: {4, 1999, 7}, 3: {5, 6}}
    assert any("up to 3 fields" in notice and "--label-column" in notice for notice in found.notices)
    assert as_dict(read_labels(path, label_column="2")) == {0: {3}, 1: {4}, 2: {4}, 3: {5}}


def test_semicolons_are_told(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("id;label\n1;red car\n2;blue\n")
    with pytest.raises(InputError, match=r"semicolons.*'id;label'.*commas"):
        read_labels(path)
    (tmp_path / "l.txt").write_text("a;1 red\nb;1 blue\n")
    assert as_dict(read_labels(tmp_path / "l.txt")) == {"a;1": {"red"}, "b;1": {"blue"}}
    path.write_text("id,label\n1,red;car\n2,blue\n")
    assert as_dict(read_labels(path)) == {1: {"red;car"}, 2: {"blue"}}


def test_tables_whose_label_nobody_can_tell_are_refused_with_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("Node,Label1,Label2\nann,red,blue\nbob,blue,\n")
    with pytest.raises(InputError, match=r"'Label1', 'Label2'.*--label-column Label1"):
        read_labels(path)
    assert as_dict(read_labels(path, label_column="Label1, Label2")) == {"ann": {"red", "blue"}, "bob": {"blue"}}
    path.write_text("id,colour,year\nann,red,7\nbob,blue,8\n")
    with pytest.raises(InputError, match="'colour', 'year'"):
        read_labels(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,subject\nann,red\nbob,blue\n", {"ann": {"red"}, "bob": {"blue"}}),
        ("paper,topic\nann,red\nbob,blue\n", {"ann": {"red"}, "bob": {"blue"}}),
        ("subject,id\nred,ann\nblue,bob\n", {"ann": {"red"}, "bob": {"blue"}}),
        # Without a usual name, over strings: an id like the others.
        ("cy,green\nann,red\nbob,blue\n", {"cy": {"green"}, "ann": {"red"}, "bob": {"blue"}}),
        # A name in use that is a label below.
        ("cy,group\nann,red\nbob,group\n", {"cy": {"group"}, "ann": {"red"}, "bob": {"group"}}),
        ("id,red\nid,blue\nann,red\n", {"id": {"red", "blue"}, "ann": {"red"}}),
    ],
)
@pytest.mark.parametrize("name", ["l.csv", "l.txt"])
def test_headers_are_told_from_labels(
    tmp_path: Path, text: str, expected: dict[object, set[object]], name: str
) -> None:
    (tmp_path / name).write_text(text)
    if text.startswith("subject"):
        assert as_dict(read_labels(tmp_path / name, id_column="id")) == expected
    else:
        assert as_dict(read_labels(tmp_path / name)) == expected


def test_a_first_line_over_known_vertices_names_columns(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("person,colour\nann,red\nbob,blue\n")
    known = np.array(["ann", "bob", "cy"], np.dtypes.StringDType())
    assert as_dict(read_labels(path)) == {"person": {"colour"}, "ann": {"red"}, "bob": {"blue"}}
    found = read_labels(path, known=known)
    assert as_dict(found) == {"ann": {"red"}, "bob": {"blue"}}
    assert "person colour" in found.notices[0]
    assert as_dict(read_labels(path, header=True)) == {"ann": {"red"}, "bob": {"blue"}}
    assert len(read_labels(path, header=False, known=known)) == 3
    path.write_text("person,colour\nann,red\nbob,blue\nnobody,blue\n")
    assert len(read_labels(path, known=known)) == 4


def test_a_line_wider_than_the_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    path.write_text("id,subject\nann,neural nets\nbob,rules\n")
    with pytest.raises(InputError, match=r"line 2: .*2 columns.* 3 fields.*\.csv"):
        read_labels(path)
    path.rename(tmp_path / "l.csv")
    assert as_dict(read_labels(tmp_path / "l.csv")) == {"ann": {"neural nets"}, "bob": {"rules"}}


def test_parquet_of_lists_categories_and_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "l.parquet"
    lists = pa.array([["a", "b"], [], None, ["b", None]], pa.list_(pa.string()))
    pq.write_table(pa.table({"node": [5, 6, 7, 8], "labels": lists}), path)
    assert as_dict(read_labels(path)) == {5: {"a", "b"}, 8: {"b"}}
    pq.write_table(pa.table({"x": ["p", "q", "r"], "y": pa.array([1.0, None, 2.0])}), path)
    assert as_dict(read_labels(path)) == {"p": {1}, "r": {2}}
    pq.write_table(pa.table({"x": ["p", "q"], "y": pa.array(["s", "t"]).dictionary_encode()}), path)
    assert as_dict(read_labels(path)) == {"p": {"s"}, "q": {"t"}}
    pq.write_table(pa.table({"x": ["p", "q"], "y": [0.5, 1.0]}), path)
    with pytest.raises(InputError, match="'y' holds fractions"):
        read_labels(path)
    pq.write_table(pa.table({"x": ["p", None], "y": [1, 1]}), path)
    with pytest.raises(InputError, match="'x'"):
        read_labels(path)


@pytest.mark.parametrize("text", ['"ann,red\n', ",red\n"])
def test_broken_tables_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(InputError, match=r"l\.csv"):
        read_labels(tmp_path / "l.csv")


def test_who_splits_ids_at_blanks_is_told_how_not_to() -> None:
    embedding = Embedding(np.eye(3), ["New York", "Bonn", "Rome"])
    with pytest.raises(InputError, match=r"\.csv"):
        classify(embedding, Labels.of({"New": "York", "Bonn": "small", "Rome": "small"}))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        read_labels(tmp_path / "nowhere.txt")


def test_mappings_and_pairs_are_taken() -> None:
    assert as_dict(Labels.of({3: "red", 1: ["red", "blue"]})) == {3: {"red"}, 1: {"red", "blue"}}
    assert as_dict(Labels.of({3: 7, 1: [7, 8]})) == {3: {7}, 1: {7, 8}}
    labels = Labels.from_pairs(np.array([1, 1]), np.array([5, 5]))
    assert labels.counts.tolist() == [1]
    assert Labels.of(labels) is labels
    with pytest.raises(InputError, match="2 vertices for 1 labels"):
        Labels.from_pairs(np.array([1, 2]), np.array([5]))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "n_labelled", "n_classes", "n_pairs"),
    [("blogcatalog", 10312, 39, 14476), ("youtube-groups", 26553, 47, 43945)],
)
def test_shared_labels_have_their_published_counts(
    shared: Callable[[str], Path], name: str, n_labelled: int, n_classes: int, n_pairs: int
) -> None:
    labels = read_labels(shared(f"{name}.labels.gz"), label_column="all")
    assert (len(labels), labels.classes.size, labels.counts.sum()) == (n_labelled, n_classes, n_pairs)
