"""Graphs into files: the format by the suffix, ids as given."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from parge.blocks import row_blocks
from parge.errors import InputError, PargeError
from parge.graph.convert import to_frame
from parge.graph.graph import Graph
from parge.ids import STRING
from parge.io.files import COMPRESSIONS, format_suffix
from parge.io.outputs import Output, check_place, replacing
from parge.typing import IdArray

_DELIMITERS = {".txt": " ", ".edges": " ", ".edgelist": " ", ".tsv": "\t", ".csv": ","}

# Lines of strings turned into text at a time.
_WRITTEN_AT_ONCE = 2**18


def write(graph: Graph, path: str | Path, *, comment: str = "") -> tuple[Path, ...]:
    """Write a graph and return the files written.

    Edge lists (``.txt``, ``.edges``, ``.edgelist``, ``.tsv``, ``.csv``, each also ``.gz`` or ``.zst``) and
    ``.parquet`` hold edges only: where some vertex has none, these vertices go to a file beside it, ``x.vertices.txt``
    for ``x.csv``, which `read` takes as `vertices`. ``.npz`` holds everything; ``.mtx`` and METIS ``.graph`` hold
    graphs whose ids are 0..n-1.

    Nothing is left behind by a write that fails: files get their name when they are complete. An existing file is
    replaced, whatever it is; the command line asks first. `comment` is a first line ``# comment`` (``.txt``, ``.edges``
    and ``.edgelist``).
    """
    path = Path(path)
    writer = _writer(path)
    if comment and _DELIMITERS.get(format_suffix(path)) != " ":
        raise InputError(f"{path}: a comment stands in .txt, .edges and .edgelist")
    isolated = graph.outside_ids[graph.degrees == 0]
    beside = (_vertex_file(path),) if _holds_edges_only(path) and isolated.size else ()
    for name in beside:
        _refuse_ids(isolated, name, r"[\r\n\x00]|^[ \t#%]|[ \t]$")
    if comment:
        _write_text(graph, path, comment)
    else:
        writer(graph, path)
    for name in beside:
        with completed(name) as file:
            file.write(f"# {comment}\n".encode() if comment else b"")
            for block in row_blocks(isolated.size, _WRITTEN_AT_ONCE):
                file.write("".join(f"{vertex}\n" for vertex in isolated[block].tolist()).encode())
    return path, *beside


def graph_outputs(path: Path) -> list[Output]:
    """Return the files that a graph may be written to, for `check_outputs`; none tells who wrote it."""
    _writer(path)
    return [Output(path), *([Output(_vertex_file(path))] if _holds_edges_only(path) else [])]


def _writer(path: Path) -> Callable[[Graph, Path], None]:
    """Return what writes a graph there; a format that is not written, or no place for a file, is refused."""
    suffix = format_suffix(path)
    writers: dict[str, Callable[[Graph, Path], None]] = {
        **dict.fromkeys(_DELIMITERS, _write_text),
        ".parquet": _write_parquet,
        ".npz": _write_npz,
        ".mtx": _write_matrix_market,
        ".graph": _write_metis,
    }
    if suffix not in writers or (path.suffix.lower() in COMPRESSIONS and suffix in (".parquet", ".npz")):
        raise InputError(f"{path}: graphs are written as {', '.join(writers)}, told by the suffix; found {path.name!r}")
    check_place(path)
    return writers[suffix]


def _holds_edges_only(path: Path) -> bool:
    return format_suffix(path) in {*_DELIMITERS, ".parquet"}


def _vertex_file(path: Path) -> Path:
    """Return where the isolated vertices of a graph are written.

    >>> _vertex_file(Path("a/b.edges.gz")).as_posix()
    'a/b.vertices.txt'
    """
    name = path.name.removesuffix(path.suffix) if path.suffix.lower() in COMPRESSIONS else path.name
    return path.with_name(Path(name).stem + ".vertices.txt")


@contextmanager
def completed(path: Path) -> Iterator[Any]:
    """Open a file for writing, compressed as its suffix says, that gets its name when all went well."""
    import pyarrow as pa

    try:
        with replacing(path) as whole:
            copy = os.fdopen(os.dup(whole.fileno()), "wb")  # arrow closes what it is given
            with pa.output_stream(copy, compression=COMPRESSIONS.get(path.suffix.lower())) as file:
                yield file
    except OSError as error:
        raise PargeError(f"{path} could not be written: {error.strerror or error}") from error


def _refuse_ids(ids: IdArray, path: Path, pattern: str) -> None:
    """Refuse string ids that match, as they would not come back as given."""
    if ids.dtype != STRING:
        return
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(ids.tolist(), pa.large_string())
    bad = pc.index(pc.match_substring_regex(names, pattern), True).as_py()
    if bad >= 0:
        raise InputError(
            f"{path}: the id {names[bad].as_py()!r} would not come back as given from this format; "
            "write .npz, or .csv for ids with blanks"
        )


def _write_text(graph: Graph, path: Path, comment: str = "") -> None:
    import pyarrow.csv

    delimiter = _DELIMITERS[format_suffix(path)]
    # What a reader would take for a separator, a comment or nothing at all.
    pattern = {" ": r"[ \t\r\n\x00,]|^[#%]|^$", "\t": r"[\t\r\n\x00]|^[ #%]|^$| $", ",": r"[\r\n\x00]|^[ \t]|^$|[ \t]$"}
    _refuse_ids(graph.outside_ids[graph.degrees > 0], path, pattern[delimiter])
    table = to_frame(graph)
    with completed(path) as file:
        if comment:
            file.write(f"# {comment}\n".encode())
        if delimiter == "," or graph.outside_ids.dtype != STRING:
            options = pyarrow.csv.WriteOptions(include_header=delimiter == ",", delimiter=delimiter)
            pyarrow.csv.write_csv(table, file, options)
        else:
            _write_unquoted(table, file, delimiter)


def _write_unquoted(table: Any, file: Any, delimiter: str) -> None:
    """Write strings as they are: quotes mean nothing outside CSV, which is all that pyarrow writes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in table.to_batches(max_chunksize=_WRITTEN_AT_ONCE):
        columns = [column.cast(pa.large_string()) for column in batch.columns]
        lines = pc.binary_join_element_wise(*columns, pa.scalar(delimiter, pa.large_string()))
        file.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def _write_parquet(graph: Graph, path: Path) -> None:
    import pyarrow.parquet as pq

    with completed(path) as file:
        pq.write_table(to_frame(graph), file, compression="zstd", write_page_checksum=True)


def _write_npz(graph: Graph, path: Path) -> None:
    _refuse_ids(graph.outside_ids, path, r"\x00$")  # numpy's arrays of fixed width end a string there
    matrix = graph.to_scipy()
    arrays: dict[str, Any] = {name: getattr(matrix, name) for name in ("indices", "indptr", "data", "shape")}
    if graph.ids is not None:
        arrays["ids"] = np.array(graph.ids.tolist()) if graph.ids.dtype == STRING else graph.ids
    with completed(path) as file:
        np.savez_compressed(file, format=np.bytes_("csr"), **arrays)


def _write_matrix_market(graph: Graph, path: Path) -> None:
    import scipy.io

    _refuse_other_ids(graph, path)
    text = io.BytesIO()
    if graph.weights is None:
        scipy.io.mmwrite(text, graph.to_scipy(), field="pattern", symmetry="symmetric")
    else:
        scipy.io.mmwrite(text, graph.to_scipy(), field="real", symmetry="symmetric")
    with completed(path) as file:
        file.write(text.getbuffer())


def _write_metis(graph: Graph, path: Path) -> None:
    from parge.io.graphs.metis import metis_text

    _refuse_other_ids(graph, path)
    if graph.weights is not None and (graph.weights != np.rint(graph.weights)).any():
        raise InputError(f"{path}: METIS files hold whole numbers as weights; write .parquet, .npz, .mtx or .csv")
    with completed(path) as file:
        for text in metis_text(graph):
            file.write(text)


def _refuse_other_ids(graph: Graph, path: Path) -> None:
    if graph.ids is not None:
        raise InputError(
            f"{path}: this format numbers its vertices and cannot hold their ids, such as {graph.ids[0]!r}; "
            "write .npz, .parquet or .csv"
        )
