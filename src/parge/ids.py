"""Outside ids of vertices: as given, found by value, and shown in messages."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.numbers import is_whole, shown
from parge.typing import IdArray, IntArray

STRING = np.dtypes.StringDType()


def as_ids(values: Any) -> IdArray:
    r"""Return a flat array of int64, or of numpy's variable-width strings.

    Integers beyond 64 bits, and integers among strings, are strings as they are written.

    >>> as_ids(["a\0", "a"]).tolist(), as_ids([2**70, 1]).tolist(), as_ids([1, "a"]).tolist()
    (['a\x00', 'a'], ['1180591620717411303424', '1'], ['1', 'a'])
    """
    if np.ma.is_masked(values):
        raise InputError("some ids are masked, so they have no value. Remove them.")
    array: IdArray = _as_array(values)
    if array.ndim != 1:
        raise InputError(f"ids must be a flat array; got shape {array.shape}")
    if array.size == 0 and array.dtype.kind not in "T":
        return np.zeros(0, np.int64)
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.max() <= np.iinfo(np.int64).max):
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "u":
        return array.astype(np.str_).astype(STRING)
    if array.dtype.kind in "UT" or (array.dtype == object and all(isinstance(value, str) for value in array)):
        return array.astype(STRING, copy=False)
    cure = "integers" if array.dtype.kind == "f" else "strings"
    example = shown(
        next((value for value in array.tolist() if not (isinstance(value, str) or is_whole(value))), array[0])
    )
    raise InputError(f"ids must be integers or strings; got {array.dtype} such as {example}. Convert them to {cure}.")


def _as_array(values: Any) -> Any:
    """Return an array of ids; a list of Python's own is looked at before numpy makes one kind of different ones.

    numpy would cut NUL off the end of strings, write NaN among strings as a name, and round integers beyond 64 bits.
    """
    array: Any = np.asarray(values)
    own = values if isinstance(values, list | tuple) else array.tolist() if array.dtype == object else None
    if own is None or array.ndim != 1 or array.dtype.kind not in "UfO":
        return array
    wrong = [value for value in own if not (isinstance(value, str) or is_whole(value))]
    if wrong and array.dtype.kind == "U":
        raise InputError(f"ids must be integers or strings; got {shown(wrong[0])} among them. Remove or convert it.")
    if wrong:
        return array
    text = _is_wide(own) or any(isinstance(value, str) for value in own)
    try:
        return np.array([str(value) for value in own], STRING) if text else np.array(own, np.int64)
    except UnicodeEncodeError as error:
        raise InputError(f"the id {error.object!a} is no text that UTF-8 can write. Rename it.") from None
    except ValueError:  # an integer of more digits than Python writes
        longest = max((value for value in own if not isinstance(value, str)), key=abs)
        raise InputError(f"an id is {shown(longest)}; no id is that long. Check the ids.") from None


def _is_wide(values: Any) -> bool:
    """Return whether an integer does not fit 64 bits."""
    return any(not isinstance(value, str) and not -(2**63) <= int(value) < 2**63 for value in values)


def parse_ids(texts: Sequence[str]) -> IdArray:
    """Return integers where every text is written as one, else the texts: ``7`` is an integer, ``007`` a name.

    >>> parse_ids(["7", "-2"]).tolist(), parse_ids(["7", "007"]).tolist()
    ([7, -2], ['7', '007'])
    """
    return as_numbers(np.array(texts, STRING))


def as_numbers(strings: IdArray) -> IdArray:
    """Return numpy strings as integers where every one is written as an integer, else as they are."""
    try:
        numbers = strings.astype(np.int64)
    except (ValueError, OverflowError):
        return strings
    return numbers if (numbers.astype(STRING) == strings).all() else strings


def is_number(text: str) -> bool:
    """Return whether a text is written as an integer of 64 bits is.

    >>> [is_number(text) for text in ("7", "-2", "007", "x", "9" * 20)]
    [True, True, False, False, False]
    """
    try:
        number = int(text)
    except ValueError:
        return False
    return -(2**63) <= number < 2**63 and str(number) == text


def repeated_numbers(strings: IdArray) -> IdArray:
    """Return `as_numbers` of strings of which many are alike: each different one is looked at once."""
    different, place = unique_ids(strings)
    return as_numbers(different)[place]


def joined(runs: Sequence[IdArray]) -> IdArray:
    """Return runs of ids as one array, of strings if one of them is."""
    return np.concatenate([run.astype(STRING) for run in runs] if any(run.dtype == STRING for run in runs) else runs)


def ascending(ids: IdArray) -> bool:
    """Return whether every id is larger than the one before it."""
    return bool((ids[1:] > ids[:-1]).all())


# Strings looked at in one go, as Python's own.
_AT_ONCE = 1 << 18


def positions(ids: IdArray, wanted: IdArray) -> IntArray:
    """Return the position of each wanted id in `ids`, or -1; numbers meet strings by how they are written.

    >>> positions(np.array([30, 10, 20]), np.array([10, 20, 40])).tolist()
    [1, 2, -1]
    """
    return Places(ids).of(wanted)


class Places:
    """The position of each id, prepared once for many look-ups.

    >>> Places(np.array([30, 10, 20])).of(np.array(["10", "x"], STRING)).tolist()
    [1, -1]
    """

    def __init__(self, ids: IdArray) -> None:
        self.ids = ids

    def of(self, wanted: IdArray) -> IntArray:
        """Return the position of each wanted id, or -1; numbers meet strings by how they are written."""
        if self.ids.size == 0 or wanted.size == 0:
            return np.full(wanted.size, -1, np.int64)
        if STRING in (self.ids.dtype, wanted.dtype):
            names = wanted.astype(STRING).tolist()
            return np.fromiter((self._by_name.get(name, -1) for name in names), np.int64, wanted.size)
        ordered, order = self._ordered
        place = np.minimum(np.searchsorted(ordered, wanted), ordered.size - 1)
        found = ordered[place] == wanted
        return np.where(found, place if order is None else order[place], -1).astype(np.int64)

    @cached_property
    def _by_name(self) -> dict[str, int]:
        # numpy's searchsorted misreads strings of over 15 bytes before its version 2.5 (its issue 31533).
        return {name: place for place, name in enumerate(self.ids.astype(STRING).tolist())}

    @cached_property
    def _ordered(self) -> tuple[IdArray, IntArray | None]:
        order = None if ascending(self.ids) else np.argsort(self.ids, kind="stable")
        return self.ids if order is None else self.ids[order], order


def repeated(ids: IdArray) -> IdArray:
    """Return the ids that are given more than once, each once."""
    if ascending(ids):
        return ids[:0]
    different, place = unique_ids(ids)
    return different[np.bincount(place, minlength=different.size) > 1]


def _has_nul(ids: IdArray) -> bool:
    """Return whether a string holds the character NUL: numpy compares strings up to it only (seen with 2.4)."""
    blocks = (slice(first, first + _AT_ONCE) for first in range(0, ids.size, _AT_ONCE))
    return ids.dtype == STRING and any("\0" in "".join(ids[block].tolist()) for block in blocks)


def _unique_names(names: list[str]) -> tuple[IdArray, IntArray]:
    """Return what `unique_ids` does, as Python compares strings: by code points, the same order."""
    different = sorted(set(names))
    place_of = {name: place for place, name in enumerate(different)}
    return np.array(different, STRING), np.fromiter((place_of[name] for name in names), np.int64, len(names))


def unique_ids(ids: IdArray) -> tuple[IdArray, IntArray]:
    """Return the different ids, ascending, and the position of each given id among them.

    numpy's own `unique` sorts strings by a method that ends the process on some orders, such as names that ascend and
    then ascend again (seen with version 2.4). A stable sort does not.

    >>> [found.tolist() for found in unique_ids(np.array(["b", "a", "b"], STRING))]
    [['a', 'b'], [1, 0, 1]]
    """
    if _has_nul(ids):
        return _unique_names(ids.tolist())
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    first = np.ones(ids.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    place = np.empty(ids.size, np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


# Ids that a message names.
_NAMED = 3


def show_ids(ids: IdArray) -> str:
    """Name some ids in a message; what they contain is escaped.

    >>> show_ids(np.array([1, 2, 3, 4, 5]))
    '1, 2, 3 and 2 more'
    """
    some = ", ".join(shown(value) for value in ids[:_NAMED].tolist())
    return some if ids.size <= _NAMED else f"{some} and {ids.size - _NAMED:,} more"


# What a string of a column becomes on its way to an array: a Python string, an array, one array of all.
TEXT_COPIES = 4


def text_bytes(column: Any) -> int:
    """Return the bytes of the strings that an Arrow column means: repeated ones take little space in a file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return text_bytes(column.flatten())
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    if not len(column.dictionary) or pa.types.is_integer(column.dictionary.type):
        return 0
    lengths = pc.binary_length(column.dictionary.cast(pa.large_string()))
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


ID_NAMES = {"id", "ids", "vertex", "node", "name", "vertex_id", "node_id", "vertexid", "nodeid", "vertices", "nodes"}
"""Names of columns of vertices in use."""


def id_column(names: Sequence[str]) -> str | None:
    """Return the first column whose name is one of vertices, or None.

    >>> id_column(["age", "Node"])
    'Node'
    """
    return next((name for name in names if name.lower() in ID_NAMES), None)


def is_text(kind: Any) -> bool:
    """Return whether values of an Arrow type are strings."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_listed(kind: Any) -> bool:
    """Return whether values of an Arrow type are lists."""
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def decoded(column: Any) -> Any:
    """Return the values of an Arrow column, also of one whose values are places in a dictionary."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    words = column.dictionary
    return (words if pa.types.is_integer(words.type) else words.cast(pa.large_string())).take(column.indices)


def ids_in(column: Any, what: str) -> IdArray:
    """Return an Arrow column of integers or strings as an array; `what` names it in the refusal of others."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        return as_ids(column.to_numpy(zero_copy_only=False))
    if is_text(column.type):
        return np.array(column.to_pylist(), STRING)
    raise InputError(f"{what} must hold integers or strings; it holds {column.type}. Convert it.")
