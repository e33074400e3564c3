"""Labels are read whatever their order and spelling, and keyed by id."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
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
    found = read_labels(tmp_path / "labels.txt")
    assert as_dict(found) == expected
    assert found.counts.tolist() == [len(expected[v]) for v in found.ids.tolist()]
    (tmp_path / "labels.gz").write_bytes(gzip.compress(text.encode()))
    assert as_dict(read_labels(tmp_path / "labels.gz")) == expected


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
            '"New York",big city,old\n"Paris, Texas", small\n',
            {"New York": {"big city", "old"}, "Paris, Texas": {"small"}},
        ),
        ("l.csv", "id,label,age\nann,red,7\nbob,blue,8\n", {"ann": {"red"}, "bob": {"blue"}}),
        ("l.csv", "Node,Label1,Label2\nann,red,blue\nbob,blue,\n", {"ann": {"red", "blue"}, "bob": {"blue"}}),
        ("l.csv", "user,team\n1,red\n2,blue\n", {1: {"red"}, 2: {"blue"}}),
        ("l.csv", "1,5,6\n2,5\n", {1: {5, 6}, 2: {5}}),
        ("l.csv", "1 5 6\n2 5\n", {1: {5, 6}, 2: {5}}),
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
    labels = read_labels(shared(f"{name}.labels.gz"))
    assert (len(labels), labels.classes.size, labels.counts.sum()) == (n_labelled, n_classes, n_pairs)
