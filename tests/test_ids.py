"""Ids are found by value, however long they are."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from parge.ids import STRING, positions, repeated, unique_ids


def test_long_strings_are_found() -> None:
    names = [f"{letter * 40}-{number}" for letter in "bca" for number in range(5)]
    ids, wanted = np.array(names, STRING), np.array([*names[::-1], "b" * 40], STRING)
    assert positions(ids, wanted).tolist() == [*range(14, -1, -1), -1]
    assert positions(np.sort(ids), np.sort(ids)).tolist() == list(range(15))


def test_thousands_of_names_in_an_odd_order_are_read(tmp_path: Path) -> None:
    """numpy's quicksort of strings ended the process on names that ascend twice, as those of any GraphML file do."""
    script = """
import sys, numpy as np, parge
from parge.evaluate.labels import Labels
from parge.ids import STRING, repeated, unique_ids
names = [f"n{i}" for i in range(2000)]
both = np.array(names + names, STRING)
found, place = unique_ids(both)
assert found.tolist() == sorted(names) and (found[place] == both).all() and repeated(both).size == 2000
nodes = "".join(f'<node id="{name}"/>' for name in names)
edges = "".join(f'<edge source="{u}" target="{v}"/>' for u, v in zip(names, names[1:]))
path = sys.argv[1] + "/g.graphml"
open(path, "w").write(f"<graphml><graph>{nodes}{edges}</graph></graphml>")
assert parge.read(path).n_edges == 1999
assert parge.Graph.from_edges(names, names[1:] + names[:1], vertices=names).n_edges == 2000
assert len(Labels.from_pairs(both, both)) == 2000
"""
    subprocess.run([sys.executable, "-c", script, tmp_path], check=True)


def test_unique_ids_equal_those_of_a_set() -> None:
    rng = np.random.default_rng(1)
    for values in (rng.integers(-5, 5, 100), np.array([f"{i}" for i in rng.integers(0, 30, 100)], STRING)):
        found, place = unique_ids(values)
        assert found.tolist() == sorted(set(values.tolist()))
        assert found[place].tolist() == values.tolist()
    assert unique_ids(np.zeros(0, np.int64))[0].size == 0


def test_names_that_differ_after_a_nul_are_different() -> None:
    """numpy 2.4 compares strings up to their first NUL only."""
    names = ["x\0b", "x\0a", "\0b", "x\0b", "\0a", "x"]
    different, place = unique_ids(np.array(names, STRING))
    assert different.tolist() == sorted(set(names))
    assert different[place].tolist() == names
    assert repeated(np.array(names, STRING)).tolist() == ["x\0b"]
    assert repeated(np.array(["\0a", "\0b"], STRING)).size == 0
