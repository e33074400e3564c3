"""Small records in a run folder that explain and decide nothing: why a subgraph failed, what was retried, times."""

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
"""The records that stand in a run folder, and in a part folder."""

# A longer record is none of ours.
_MOST_BYTES = 1 << 20


def write_note(path: Path, record: dict[str, Any]) -> None:
    """Write a record, whole or not at all; best effort, for the disk may be full."""
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        with os.fdopen(create_new(temporary), "w") as file:
            file.write(json.dumps(record, indent=1))
        temporary.replace(path)


def read_note(path: Path) -> dict[str, Any] | None:
    """Return a record, or None where there is none that parge wrote."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if not path.is_symlink() and path.is_file() and path.stat().st_size <= _MOST_BYTES:
            record = json.loads(path.read_bytes())
            return record if isinstance(record, dict) else None
    return None


def record_retries(folder: Path, run: str, retries: list[str]) -> None:
    """Write down all that was begun again in a run, for who takes it up."""
    _record(folder / RETRIES, run, retries)


def recorded_retries(folder: Path, run: str) -> list[str]:
    """Return what was begun again in this very run before; nothing where the folder does not tell."""
    found = _recorded(folder / RETRIES, run, list)
    return [printable(words) for words in found or [] if isinstance(words, str)]


def record_seconds(folder: Path, run: str, seconds: Mapping[str, float]) -> None:
    """Write down how long the stages of a run took so far, for who takes it up or reports on it."""
    _record(folder / SECONDS, run, dict(seconds))


def recorded_seconds(folder: Path, run: str) -> dict[str, float]:
    """Return how long the stages of this very run took, as far as the folder tells."""
    found = _recorded(folder / SECONDS, run, dict) or {}
    return {
        str(stage): float(took) for stage, took in found.items() if type(took) in (int, float) and 0 <= took < _LONG
    }


def note_faults(folder: Path, run: str) -> tuple[str, ...]:
    """Return what to say of records that are there and cannot be used: they decide nothing, so the run goes on."""
    kinds: dict[str, type[Any]] = {RETRIES: list, SECONDS: dict}
    return tuple(
        f"{on_one_line(folder / name)} is damaged or of another run; {_LOST[name]}"
        for name, kind in kinds.items()
        if os.path.lexists(folder / name) and _recorded(folder / name, run, kind) is None
    )


def _record(path: Path, run: str, value: Any) -> None:
    key = path.stem
    write_note(path, {"run": run, key: value, "crc32": _sum(run, value)})


def _recorded(path: Path, run: str, kind: type[Any]) -> Any:
    """Return what `_record` wrote of this very run, or None."""
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
