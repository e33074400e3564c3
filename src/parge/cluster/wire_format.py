"""The format of messages between shards: `encoded` turns arrays into bytes, `decoding` checks bytes and returns arrays.

`parge.cluster.sockets` calls both in every step. A message is a prefix of 16 bytes, a JSON header with the type and
shape of each array, and the bytes of the arrays. Sizes are checked before memory is taken. Nothing is ever executed:
only plain JSON and arrays of numbers are accepted.
"""

import json
import struct
from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.cluster.mesh import Message
from parge.errors import PargeError

_PREFIX = struct.Struct("<4sIQ")
_MARK = b"prg1"

# The most bytes of the header, and of the arrays of one message.
_MOST_HEADER, MOST_BYTES = 1 << 16, 1 << 38

# Every array begins at a multiple of this many bytes.
_ALIGNED = 8

_NUMBERS = "biuf"


class MessageError(PargeError):
    """Bytes that are no message of a shard."""


def encoded(step: int, message: Message) -> list[memoryview]:
    """Return the bytes of a message, piece by piece: those of the arrays are not copied."""
    arrays = [np.asarray(array, order="C") for array in message]
    header = json.dumps([step, [(array.dtype.str, list(array.shape)) for array in arrays]]).encode()
    n_bytes = sum(_padded(array.nbytes) for array in arrays)
    pieces = [memoryview(_PREFIX.pack(_MARK, len(header), n_bytes) + header)]
    for array in arrays:
        if array.size:
            pieces.append(_view(array.reshape(-1).view(np.uint8)))
            if -array.nbytes % _ALIGNED:
                pieces.append(memoryview(bytes(-array.nbytes % _ALIGNED)))
    return pieces


def decoding(step: int) -> Generator[memoryview, None, Message]:
    """Yield places for the bytes of a message, to be filled one after the other; return the message.

    Raises `MessageError` before anything is kept that is not a message of this step.
    """
    prefix = bytearray(_PREFIX.size)
    yield memoryview(prefix)
    mark, n_header, n_bytes = _PREFIX.unpack(prefix)
    if mark != _MARK or not 0 < n_header <= _MOST_HEADER or n_bytes > MOST_BYTES:
        raise MessageError(
            f"a shard sent bytes that are not a message of parge ({prefix[:4]!r}, {n_header:,} and {n_bytes:,} bytes)"
        )
    header = bytearray(n_header)
    yield memoryview(header)
    shapes = _read_header(bytes(header), step, n_bytes)
    data = np.empty(n_bytes, np.uint8)
    if n_bytes:
        yield _view(data)
    data.flags.writeable = False
    return _unpacked(data, shapes)


def _view(data: Any) -> memoryview:
    return memoryview(data)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNED) * _ALIGNED


Shapes = list[tuple["np.dtype[Any]", list[int]]]


def _read_header(header: bytes, step: int, n_bytes: int) -> Shapes:
    """Return dtype and shape of each array; refuse what does not add up to the bytes that were said."""
    try:
        given, arrays = json.loads(header)
        found = [(np.dtype(str(kind)), [int(size) for size in shape]) for kind, shape in arrays]
    except (ValueError, TypeError, RecursionError, SyntaxError) as error:
        raise MessageError(f"a shard sent bytes that are not a message of parge: {error}") from error
    if given != step:
        raise MessageError(f"a shard sent a message of step {given!r} in step {step}")
    total = 0
    for dtype, shape in found:
        if dtype.kind not in _NUMBERS or any(size < 0 for size in shape):
            raise MessageError(f"a shard sent an array that is not of numbers: {dtype}, {shape}")
        total += _padded(_size(shape) * dtype.itemsize)
    if total != n_bytes:
        raise MessageError(f"a shard sent arrays of {total:,} bytes, but declared {n_bytes:,}")
    return found


def _size(shape: list[int]) -> int:
    size = 1  # of Python's own integers, which no shape overflows
    for one in shape:
        size *= one
    return size


def _unpacked(data: NDArray[np.uint8], shapes: Shapes) -> Message:
    found, start = [], 0
    for dtype, shape in shapes:
        size = _size(shape) * dtype.itemsize
        found.append(data[start : start + size].view(dtype).reshape(shape))
        start += _padded(size)
    return tuple(found)
