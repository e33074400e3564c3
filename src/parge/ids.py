"""Outside ids of vertices: as given, found by value, and shown in messages."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.numbers import shown
from parge.typing import IdArray, IntArray

STRING = np.dtypes.StringDType()


def as_ids(values: Any) -> IdArray:
    """Return a flat array of int64, or of numpy's variable-width strings."""
    array = np.asarray(values)
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
    raise InputError(f"ids must be integers or strings; got {array.dtype} such as {shown(array[0])}")


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


def positions(ids: IdArray, wanted: IdArray) -> IntArray:
    """Return where each wanted id stands in `ids`, or -1; numbers meet strings by how they are written.

    >>> positions(np.array([30, 10, 20]), np.array([10, 20, 40])).tolist()
    [1, 2, -1]
    """
    if ids.dtype.kind != wanted.dtype.kind:
        ids, wanted = ids.astype(STRING), wanted.astype(STRING)
    if ids.size == 0 or wanted.size == 0:
        return np.full(wanted.size, -1, np.int64)
    if ids.dtype == STRING:
        # numpy's searchsorted misreads strings of over 15 bytes before its version 2.5 (its issue 31533).
        place_of = {value: place for place, value in enumerate(ids.tolist())}
        return np.fromiter((place_of.get(value, -1) for value in wanted.tolist()), np.int64, wanted.size)
    order = None if ascending(ids) else np.argsort(ids, kind="stable")
    ordered = ids if order is None else ids[order]
    place = np.minimum(np.searchsorted(ordered, wanted), ids.size - 1)
    found = ordered[place] == wanted
    return np.where(found, place if order is None else order[place], -1).astype(np.int64)


def repeated(ids: IdArray) -> IdArray:
    """Return the ids that stand more than once, each once."""
    if ascending(ids):
        return ids[:0]
    ordered = np.sort(ids, kind="stable")
    return unique_ids(ordered[1:][ordered[1:] == ordered[:-1]])[0]


def unique_ids(ids: IdArray) -> tuple[IdArray, IntArray]:
    """Return the different ids, ascending, and where each of the given ones stands among them.

    numpy's own `unique` sorts strings by a method that ends the process on some orders, such as names that ascend and
    then ascend again (seen with version 2.4); a stable sort does not.

    >>> [found.tolist() for found in unique_ids(np.array(["b", "a", "b"], STRING))]
    [['a', 'b'], [1, 0, 1]]
    """
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    first = np.ones(ids.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    place = np.empty(ids.size, np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def show_ids(ids: IdArray, limit: int = 3) -> str:
    """Name some ids in a message; what they contain is escaped.

    >>> show_ids(np.array([1, 2, 3, 4, 5]))
    '1, 2, 3 and 2 more'
    """
    some = ", ".join(shown(value) for value in ids[:limit].tolist())
    return some if ids.size <= limit else f"{some} and {ids.size - limit:,} more"


# What a string of a column becomes on its way to an array: a Python string, an array, one array of all.
TEXT_COPIES = 4


def text_bytes(column: Any) -> int:
    """Return the bytes of the strings that an Arrow column stands for: repeated ones take little room in a file."""
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
