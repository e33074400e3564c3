"""Structures of the compact protocol of Thrift, walked without any library; Parquet describes itself in them."""

from collections.abc import Callable
from typing import Any

# Kinds of the protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

# Of those that have one.
_SIZES = {_BYTE: 1, _DOUBLE: 8}

# A number of 64 bits has at most ten bytes, of seven bits each; structures of Parquet are some ten deep.
_MOST_BITS, _DEEPEST = 70, 40

Read = Callable[["Walk", int], Any]
"""What reads a value of the kind given, or raises a ValueError."""

Fields = dict[int, tuple[str, Read]]
"""Fields that are wanted: by number, the name and what reads it."""


class Walk:
    """A place in bytes of the protocol. What they cannot mean is a ValueError; their end is an IndexError."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def fields(self, wanted: Fields) -> dict[str, Any]:
        """Read a structure, and return the fields that are wanted, by name.

        A field that is there twice is refused: which of the two counts would depend on the reader.
        """
        found: dict[str, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            if number not in wanted:
                self._skip(head & 15)
                continue
            name, read = wanted[number]
            if name in found:
                raise ValueError(f"{name} is there twice")
            found[name] = read(self, head & 15)
        return found

    def integer(self, kind: int) -> int:
        """Read an integer that must not be negative."""
        if kind not in (_I16, _I32, _I64):
            raise ValueError("an integer was expected")
        found = self._signed()
        if not 0 <= found < 1 << 63:
            raise ValueError(f"the number {found} is negative or too large")
        return found

    def text(self, kind: int) -> str:
        """Read a string."""
        if kind != _BINARY:
            raise ValueError("a string was expected")
        start = self._jump(self._varint())
        return self.data[start : self.place].decode()

    def items(self, kind: int, read: Read) -> list[Any]:
        """Read a list, each element by `read`."""
        if kind != _LIST:
            raise ValueError("a list was expected")
        size, inner = self._list_head()
        return [read(self, inner) for _ in range(size)]

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _varint(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 0x80:
            found |= (byte & 0x7F) << shift
            shift += 7
            if shift >= _MOST_BITS:
                raise ValueError("a number has too many bytes")
        return found | byte << shift

    def _signed(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)

    def _jump(self, n_bytes: int) -> int:
        """Skip `n_bytes` bytes, which must be there, and return where they begin."""
        start, self.place = self.place, self.place + n_bytes
        if self.place > len(self.data):
            raise IndexError("the end was met")
        return start

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        if size > len(self.data) - self.place:  # every element takes a byte or more
            raise IndexError("the end was met")
        return size, head & 15

    def _skip(self, kind: int, depth: int = 0, *, in_field: bool = True) -> None:
        """Go past a value; yes and no are kinds of their own in a field, and take a byte elsewhere."""
        if depth > _DEEPEST:
            raise ValueError("structures are nested too deep")
        if kind in (_TRUE, _FALSE):
            self._jump(0 if in_field else 1)
        elif kind in (_I16, _I32, _I64):
            self._varint()
        elif kind in _SIZES:
            self._jump(_SIZES[kind])
        elif kind == _BINARY:
            self._jump(self._varint())
        elif kind in (_LIST, _SET):
            size, inner = self._list_head()
            for _ in range(size):
                self._skip(inner, depth + 1, in_field=False)
        elif kind == _MAP:
            self._skip_map(depth)
        elif kind == _STRUCT:
            self._skip_fields(depth + 1)
        else:
            raise ValueError(f"a value has the unknown kind {kind}")

    def _skip_fields(self, depth: int) -> None:
        while head := self._byte():
            if not head >> 4:
                self._varint()
            self._skip(head & 15, depth)

    def _skip_map(self, depth: int) -> None:
        size = self._varint()
        if size > len(self.data) - self.place:
            raise IndexError("the end was met")
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._skip(kinds >> 4, depth + 1, in_field=False)
            self._skip(kinds & 15, depth + 1, in_field=False)


def structure(wanted: Fields) -> Read:
    """Return what reads a structure of these fields."""

    def read(walk: Walk, kind: int) -> dict[str, Any]:
        if kind != _STRUCT:
            raise ValueError("a structure was expected")
        return walk.fields(wanted)

    return read


def listed(read: Read) -> Read:
    """Return what reads a list of such values."""
    return lambda walk, kind: walk.items(kind, read)
