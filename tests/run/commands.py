"""Real parge processes for tests: started, watched, ended."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

PARGE = [sys.executable, "-m", "parge"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", **more}


def start(folder: Path, *arguments: object, **more: str) -> "subprocess.Popen[str]":
    """Start a command in a folder; what it says is kept."""
    return subprocess.Popen(
        [*PARGE, *map(str, arguments)],
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, *arguments: object, code: int = 0, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a folder to its end, which must be with that exit code and without a traceback of ours."""
    done = subprocess.run(
        [*PARGE, *map(str, arguments)], cwd=folder, env=environment(**more), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"exit {done.returncode}\n{done.stderr[-3000:]}"
    return done


def workers(parent: int) -> list[psutil.Process]:
    """Return the worker processes of a coordinator: each is the first child of its guard."""
    found = []
    for guard in guards(parent):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [child for child in guard.children()[:1] if alive(child.pid)]
    return found


def guards(parent: int) -> list[psutil.Process]:
    """Return the guards of a coordinator's workers: its children, and those of its fork server."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(parent).children():
            found += child.children() if child.name() == "parge-server" else [child]
    return found


def marked(mark: str) -> list[int]:
    """Return the processes that are alive and have that word on their command line."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if mark in (process.info["cmdline"] or []) and alive(process.pid)
    ]


def alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Return what the condition returns as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return found
