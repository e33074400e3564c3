"""Ids are found by value, however long they are."""

import numpy as np

from parge.ids import STRING, positions


def test_long_strings_are_found() -> None:
    names = [f"{letter * 40}-{number}" for letter in "bca" for number in range(5)]
    ids, wanted = np.array(names, STRING), np.array([*names[::-1], "b" * 40], STRING)
    assert positions(ids, wanted).tolist() == [*range(14, -1, -1), -1]
    assert positions(np.sort(ids), np.sort(ids)).tolist() == list(range(15))
