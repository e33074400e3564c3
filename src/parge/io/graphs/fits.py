"""Whether a graph file fits the coordinator's memory, judged before it is read; where its rows go if not."""

import tempfile
from pathlib import Path

from parge.io.files import format_suffix, is_compressed, read_head
from parge.io.footers import read_footer
from parge.memory import parse_bytes, private_bytes
from parge.storage import MEMORY, Files, Storage

# Reading takes 34 bytes an edge at its peak (measured at 8.6 M and 34.5 M edges), 8 of which stay; KaMinPar then
# takes some 40 beside a copy without the anchors, and arrays over vertices, at 4 edges a vertex, 25 more.
_BYTES_AN_EDGE = 80

# What gzip and zstd make of a list of integers: 2.5 to 5 times smaller.
_UNPACKED = 5

# Text that is parsed together becomes some five times as much while it is; less than this at once is slow.
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 20, 1 << 25


def storage_for(path: Path, limit: int | str | None, folder: Path | None = None) -> Storage:
    """Return memory where the graph of this file fits under the limit with all that is done to it, else files.

    Parameters
    ----------
    limit : size
        Most private memory that this process may have, what it has already included; None is no limit.
    folder : path, optional
        Where files go; by default where the system has its temporary ones.
    """
    if limit is None:
        return MEMORY
    room = (parse_bytes(limit) if isinstance(limit, str) else limit) - private_bytes()
    if projected_edges(path) * _BYTES_AN_EDGE <= room:
        return MEMORY
    place = folder if folder is not None and folder.is_dir() else Path(tempfile.gettempdir())
    return Files(place, min(_LARGEST_BLOCK, max(_SMALLEST_BLOCK, room // 16)))


def projected_edges(path: Path) -> int:
    """Return about how many edges a file holds: by its own count if it is Parquet, else by the length of its lines."""
    if format_suffix(path) == ".parquet":
        return read_footer(path).n_rows
    head = read_head(path)
    size = path.stat().st_size * (_UNPACKED if is_compressed(path) else 1)
    return int(size * head.count(b"\n") / max(1, len(head)))
