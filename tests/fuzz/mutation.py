"""Mutations of valid files: bytes flipped, set, cut, doubled, moved, spliced with rubbish and with each other."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

# Numbers, signs and words that parsers trip over, among plain rubbish.
_RUBBISH = [b"\0", b"\xff\xfe", b"-1", b"0", b"99999999999999999999", b"2147483648", b"nan", b"1e999", b"\n", b"\r\n"]
_RUBBISH += [b"\t", b",", b'"', b"%", b"# ", b"\xef\xbb\xbf", b"{}", b"(", b"<!DOCTYPE x>", b"&a;", b"PK\3\4", b"PAR1"]
_RUBBISH += [b"%%MatrixMarket matrix coordinate real general\n", b"\x93NUMPY", b"\x80\x04\x95", b"\xf0\x9f\x92\xa9"]
_RUBBISH += [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\xff\xff\xff\x7f"]


@dataclass(frozen=True)
class Edit:
    """One change to a file; places are shares of its length, so that they mean something for any file."""

    kind: str
    at: float
    to: float
    value: int
    rubbish: bytes

    def apply(self, data: bytearray, other: bytes) -> bytearray:
        """Return the changed bytes; `other` is a second valid file to splice with."""
        start, stop = sorted((int(self.at * len(data)), int(self.to * len(data))))
        piece, after = data[start:stop], data[start + 1 :]
        edits: dict[str, Callable[[], bytearray]] = {
            "flip": lambda: data[:start] + bytes(b ^ 1 << self.value % 8 for b in data[start : start + 1]) + after,
            "set": lambda: data[:start] + bytes([self.value]) + after,
            "cut": lambda: data[:start],
            "behead": lambda: data[start:],
            "remove": lambda: data[:start] + data[stop:],
            "double": lambda: data[:stop] + piece[:4096] + data[stop:],
            "move": lambda: piece + data[:start] + data[stop:],
            "zero": lambda: data[:start] + bytes(len(piece)) + data[stop:],
            "insert": lambda: data[:start] + self.rubbish + data[start:],
            "overwrite": lambda: data[:start] + self.rubbish + data[start + len(self.rubbish) :],
            "splice": lambda: data[:start] + bytearray(other[int(self.to * len(other)) :]),
        }
        return edits[self.kind]()


KINDS = ["flip", "flip", "set", "set", "cut", "behead", "remove", "double", "move", "zero", "insert", "overwrite"]
KINDS += ["splice"]
_share = st.floats(0, 1, exclude_max=True)


def edits(most: int = 4) -> st.SearchStrategy[list[Edit]]:
    """Return a strategy of one to a few edits."""
    edit = st.builds(
        Edit,
        kind=st.sampled_from(KINDS),
        at=_share,
        to=_share,
        value=st.integers(0, 255),
        rubbish=st.sampled_from(_RUBBISH) | st.binary(max_size=12),
    )
    return st.lists(edit, min_size=1, max_size=most)


def mutated(data: bytes, changes: list[Edit], other: bytes) -> bytes:
    """Return a file after the edits."""
    found = bytearray(data)
    for change in changes:
        found = change.apply(found, other)
    return bytes(found)
