"""The processes of `benchmarks.soak`: found by a mark in their environment, waited for; and a cluster of Ray."""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

WORKERS = 3
TOKEN = "PARGE_SOAK"  # in the environment of all processes of a soak
GONE_SECONDS = 30.0


def all_below(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return all that these processes have started."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            found += process.children(recursive=True)
    return found


def wait_for(processes: list[psutil.Process]) -> None:
    """Wait until they have ended.

    Known limit: if the guard of a worker and the process that started the guard are killed at the same moment, what
    the technique itself started lives on.
    """
    psutil.wait_procs(processes, timeout=GONE_SECONDS)


def with_token(token: str) -> Iterator[psutil.Process]:
    """Yield the processes of a soak, or of one lane of it, by the mark in their environment."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(TOKEN) == token and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def is_ours(process: psutil.Process) -> bool:
    """Return whether parge gave a process its name."""
    with contextlib.suppress(psutil.Error):
        return process.name().startswith("parge-")
    return False


def is_sleeper(process: psutil.Process) -> bool:
    """Return whether it is the process that the technique starts."""
    with contextlib.suppress(psutil.Error):
        return process.cmdline() == ["sleep", "3333"]
    return False


@dataclass(frozen=True)
class Cluster:
    """A cluster of Ray on this machine."""

    address: str
    process: psutil.Process
    token: str


@contextmanager
def ray_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a cluster of Ray; all of it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, place = f"ray-{os.getpid()}-{port}", folder / "ray"
    line = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}"]
    line += ["--node-ip-address=127.0.0.1", f"--num-cpus={WORKERS}", "--include-dashboard=false"]
    line += [f"--temp-dir={place}", "--object-store-memory=100000000", "--disable-usage-stats"]
    settings = {
        "RAY_worker_niceness": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        # Ray asks for a token where its user has one; drivers inherit this one.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    os.environ |= {name: value for name, value in settings.items() if "AUTH" in name}
    with (folder / "ray.log").open("wb") as said:
        running = subprocess.Popen(
            line, env={**os.environ, **settings, TOKEN: token}, cwd=folder, stdout=said, stderr=said
        )
    try:
        end = time.monotonic() + 120
        while b"Ray runtime started" not in (folder / "ray.log").read_bytes():
            if running.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Ray did not start: {(folder / 'ray.log').read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)
        yield Cluster(f"127.0.0.1:{port}", psutil.Process(running.pid), token)
    finally:
        running.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(30)
        for process in with_token(token):
            process.kill()
        running.wait()
