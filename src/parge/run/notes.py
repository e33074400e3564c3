"""Small records in a run folder that explain and decide nothing: why a subgraph failed, what was retried, times."""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parge.run.words import printable
from parge.storage import create_new

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
    write_note(folder / RETRIES, {"run": run, "retries": retries})


def recorded_retries(folder: Path, run: str) -> list[str]:
    """Return what was begun again in this very run before; nothing where the folder does not tell."""
    record = read_note(folder / RETRIES) or {}
    found = record.get("retries")
    if record.get("run") != run or not isinstance(found, list):
        return []
    return [printable(words) for words in found if isinstance(words, str)]


def record_seconds(folder: Path, run: str, seconds: Mapping[str, float]) -> None:
    """Write down how long the stages of a run took so far, for who takes it up or reports on it."""
    write_note(folder / SECONDS, {"run": run, "seconds": dict(seconds)})


def recorded_seconds(folder: Path, run: str) -> dict[str, float]:
    """Return how long the stages of this very run took, as far as the folder tells."""
    record = read_note(folder / SECONDS) or {}
    found = record.get("seconds")
    if record.get("run") != run or not isinstance(found, dict):
        return {}
    return {
        str(stage): float(took) for stage, took in found.items() if type(took) in (int, float) and 0 <= took < _LONG
    }


# More seconds than any run takes: a note with more is none of ours.
_LONG = 1e12
