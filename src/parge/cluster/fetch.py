"""Files of a store or of the web, fetched by all shards: each copies its share to the run folder, where all read."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from parge.cluster.mesh import Mesh
from parge.errors import InputError
from parge.io.places import shown_name
from parge.io.stores import Found, Place, shown_url
from parge.show.text import printable

_PACKED = {".gz", ".bz2", ".xz", ".zst"}

# What a file of unknown size counts for.
_SOME = 1 << 20


@dataclass(frozen=True)
class Fetch:
    """Copy the files of a URL; those that are there already, whole, are not copied again."""

    url: str  # a file, a folder or a pattern
    folder: Path  # where the copies go: numbered in the order of the files, which is the order of reading

    def __call__(self, mesh: Mesh) -> dict[str, Any]:
        """Copy this shard's share; return when all files are there."""
        place = Place.of(self.url)
        (text,) = mesh.lead(lambda _found: (np.frombuffer(_listed(place), np.uint8),))
        files = [Found(*one) for one in json.loads(text.tobytes())]
        if not files:
            raise InputError(f"{shown_url(self.url)}: there is no file")
        self.folder.mkdir(parents=True, exist_ok=True)
        for number in _share(files, mesh.rank, mesh.size):
            found = files[number]
            out = self.folder / f"{number:05d}{_suffix(found.path)}"
            if out.exists() and found.size in (None, out.stat().st_size):
                continue
            part = out.with_name(f".{out.name}")
            part.unlink(missing_ok=True)
            with _named(mesh.rank, found.path):
                place.copy(found, part)
            part.replace(out)
        mesh.share()  # all files are there
        return {"files": len(files)}


@contextmanager
def _named(rank: int, path: str) -> Iterator[None]:
    """Have a failure say in this order: which shard, which file, why, and what to do."""
    try:
        yield
    except InputError as error:
        name, why = printable(shown_name(path.partition("?")[0]), 300), str(error).rstrip(". ")
        raise InputError(
            f"shard {rank} could not copy {name}: {why}. Check that its machine can read the file, then resume the run "
            "with --resume."
        ) from error


def _listed(place: Place) -> bytes:
    return json.dumps([[found.path, found.size] for found in place.files()]).encode()


def _share(files: list[Found], rank: int, size: int) -> list[int]:
    """Return the numbers of the files that a shard copies: about as many bytes as the others do.

    >>> files = [Found("a", 5), Found("b", 4), Found("c", 3)]
    >>> _share(files, 0, 2), _share(files, 1, 2)
    ([0], [1, 2])
    """
    loads, found = [0] * size, list[int]()
    sizes = [_SOME if one.size is None else max(1, one.size) for one in files]
    for number in sorted(range(len(files)), key=lambda place: (-sizes[place], place)):
        least = loads.index(min(loads))
        loads[least] += sizes[number]
        if least == rank:
            found.append(number)
    return found


def _suffix(path: str) -> str:
    """Return by which suffix a file is read.

    >>> _suffix("b/part-1.snappy.parquet"), _suffix("b/edges.CSV.gz?key=1"), _suffix("b/edges")
    ('.parquet', '.csv.gz', '')
    """
    suffixes = [suffix.lower() for suffix in PurePosixPath(path.partition("?")[0]).suffixes]
    return "".join(suffixes[-2:] if suffixes and suffixes[-1] in _PACKED else suffixes[-1:])
