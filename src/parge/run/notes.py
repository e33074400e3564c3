"""Small records in a run folder that have no influence on results: failures, retries, times."""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from parge.storage import create_new
from parge.text import on_one_line, printable

FAILURE, RETRIES, SECONDS = "failure.json", "retries.json", "seconds.json"
RUN_NOTES, PART_NOTES = (RETRIES, SECONDS), (FAILURE,)
"""The records in a run folder, and in a part folder."""

# A longer record is none of ours.
_MOST_BYTES = 1 << 20


def write_note(path: Path, record: dict[str, Any]) -> None:
    """Write a record completely or not at all; errors are ignored, because the disk may be full."""
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        with os.fdopen(create_new(temporary), "w") as file:
            file.write(json.dumps(record, indent=1))
        temporary.replace(path)


def read_note(path: Path) -> dict[str, Any] | None:
    """Return a record, or None if there is none that parge wrote."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if not path.is_symlink() and path.is_file() and path.stat().st_size <= _MOST_BYTES:
            record = json.loads(path.read_bytes())
            return record if isinstance(record, dict) else None
    return None


def record_retries(folder: Path, run: str, retries: list[str]) -> None:
    """Store the retries of a run, for a later resume."""
    _record(folder / RETRIES, run, retries)


def recorded_retries(folder: Path, run: str) -> list[str]:
    """Return the earlier retries of this run; empty if the folder has no record."""
    found = _recorded(folder / RETRIES, run, list)
    return [printable(words) for words in found or [] if isinstance(words, str)]


def record_seconds(folder: Path, run: str, seconds: Mapping[str, float]) -> None:
    """Store the time of each stage so far, for a later resume or report."""
    _record(folder / SECONDS, run, dict(seconds))


def recorded_seconds(folder: Path, run: str) -> dict[str, float]:
    """Return the time of each stage of this run that the folder has a record of."""
    found = _recorded(folder / SECONDS, run, dict) or {}
    return {
        str(stage): float(took) for stage, took in found.items() if type(took) in (int, float) and 0 <= took < _LONG
    }


def note_faults(folder: Path, run: str) -> tuple[str, ...]:
    """Return notices on records that cannot be used; they have no influence on results, so the run continues."""
    kinds: dict[str, type[Any]] = {RETRIES: list, SECONDS: dict}
    return tuple(
        f"{on_one_line(folder / name)} is damaged or belongs to another run; {_LOST[name]}"
        for name, kind in kinds.items()
        if os.path.lexists(folder / name) and _recorded(folder / name, run, kind) is None
    )


def _record(path: Path, run: str, value: Any) -> None:
    key = path.stem
    write_note(path, {"run": run, key: value, "crc32": _sum(run, value)})


def _recorded(path: Path, run: str, kind: type[Any]) -> Any:
    """Return what `_record` wrote for this run, or None."""
    record = read_note(path) or {}
    value = record.get(path.stem)
    if record.get("run") != run or type(value) is not kind or record.get("crc32") != _sum(run, value):
        return None
    return value


def _sum(run: str, value: Any) -> str:
    return f"{crc32(json.dumps([run, value], sort_keys=True).encode()):08x}"


# What is missing where a record cannot be used.
_LOST = {
    RETRIES: "earlier retries are not in the report",
    SECONDS: "the time of earlier work is not counted",
}

# More seconds than any run takes: a note with more is none of ours.
_LONG = 1e12
