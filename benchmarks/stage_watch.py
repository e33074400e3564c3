"""Run a command of parge and watch it stage by stage: seconds, core seconds, private memory of workers and of itself.

What is seen from outside is the same for every way of running: all processes of the command are sampled, whichever
engine started them. Private memory is RssAnon, so pages of mapped files are not counted. A process that ends between
two samples loses up to one interval of its core seconds.
"""

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

# How often known processes are sampled, and how often new ones are looked for, in seconds.
SAMPLE, SEARCH = 0.05, 0.25

# The first word of a line on stderr, and its stage.
_STAGES = {
    "reading": "read",
    "decomposing": "decompose",
    "preparing": "prepare",
    "embedding": "embed",
    "aligning": "reconcile",
    "refining": "refine",
    "writing": "write",
}

WORKER = "parge-worker"


@dataclass
class Stage:
    """What was seen of one stage."""

    seconds: float = 0.0
    core_seconds: float = 0.0
    worker_bytes: int = 0
    lead_bytes: int = 0


@dataclass(eq=False)
class Watched:
    """What was seen of a command.

    Parameters
    ----------
    answer : dict
        Its JSON.
    stages : dict
        Each stage by name, in order; "start" is before the first.
    """

    answer: dict[str, Any] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=lambda: {"start": Stage()})

    @property
    def worker_bytes(self) -> int:
        """The most private memory of a worker at any moment."""
        return max(stage.worker_bytes for stage in self.stages.values())

    @property
    def lead_bytes(self) -> int:
        """The most private memory of the process that leads."""
        return max(stage.lead_bytes for stage in self.stages.values())

    @property
    def core_seconds(self) -> float:
        """Seconds of all cores in all stages."""
        return sum(stage.core_seconds for stage in self.stages.values())


def private(pid: int) -> int:
    """Return the anonymous resident memory of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssAnon")), 0)


def _cores(process: psutil.Process) -> float:
    took = process.cpu_times()
    return float(took.user + took.system)


def watched(words: list[str], module: str = "parge") -> Watched:
    """Run a command of this Python; return what was seen of it. Its messages go on to stderr."""
    found, now = Watched(), ["start"]
    command = subprocess.Popen([sys.executable, "-m", module, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    answer: list[bytes] = []
    readers = [
        threading.Thread(target=_follow, args=(command.stderr, now)),
        threading.Thread(target=lambda pipe: answer.append(pipe.read()), args=(command.stdout,)),
    ]
    for reader in readers:
        reader.start()
    _sample(command, found, now)
    for reader in readers:
        reader.join()
    if command.returncode:
        raise SystemExit(f"the command failed with {command.returncode}: {' '.join(words)}")
    found.answer = json.loads(answer[0])
    return found


def _follow(lines: Iterable[bytes], now: list[str]) -> None:
    """Pass messages on, and keep the stage that the last one names."""
    for line in lines:
        text = line.decode(errors="replace")
        sys.stderr.write(text)
        said = text.split(" s  ", 1)[-1].split(":")[0].split()
        if said and said[0] in _STAGES:
            now[0] = _STAGES[said[0]]


def _sample(command: "subprocess.Popen[bytes]", found: Watched, now: list[str]) -> None:
    """Sample all processes of a command until it ends."""
    known: dict[int, tuple[psutil.Process, bool]] = {command.pid: (psutil.Process(command.pid), False)}
    spent: dict[int, float] = {}
    searched, last = 0.0, time.perf_counter()
    while command.poll() is None:
        moment, stage = time.perf_counter(), found.stages.setdefault(now[0], Stage())
        stage.seconds += moment - last
        last = moment
        if moment - searched > SEARCH:
            searched = moment
            for pid, process, is_worker in _of_command(command.pid):
                known[pid] = process, is_worker
        for pid, (process, is_worker) in list(known.items()):
            try:
                cores, held = _cores(process), private(pid)
            except (psutil.Error, OSError):
                del known[pid]
                spent.pop(pid, None)
                continue
            stage.core_seconds += cores - spent.get(pid, 0.0)
            spent[pid] = cores
            if is_worker:
                stage.worker_bytes = max(stage.worker_bytes, held)
            elif pid == command.pid:
                stage.lead_bytes = max(stage.lead_bytes, held)
        time.sleep(SAMPLE)


def _of_command(pid: int) -> Iterable[tuple[int, psutil.Process, bool]]:
    """Yield the processes that a command started, and all workers below this process: those of a cluster are not its.

    What belongs to the cluster itself is left out.
    """
    with contextlib.suppress(psutil.Error):
        below = {child.pid for child in psutil.Process(pid).children(recursive=True)}
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                is_worker = child.name() == WORKER
                if is_worker or child.pid in below:
                    yield child.pid, child, is_worker


def stage_table(found: Watched, sent: dict[str, float], n_edges: int) -> None:
    """Print what each stage took, as rows of a table; `sent` has the bytes that shards sent in some stages."""
    print("| stage | s | s of cores | us an edge | bytes sent an edge | largest shard, private | leading, private |")
    print("|---|---|---|---|---|---|---|")
    for name, stage in found.stages.items():
        row = [name, f"{stage.seconds:.1f}", f"{stage.core_seconds:.1f}", f"{stage.core_seconds / n_edges * 1e6:.2f}"]
        row += [f"{sent[name] / n_edges:.0f}" if name in sent else "–"]
        row += [f"{stage.worker_bytes / 1e6:.0f} MB" if stage.worker_bytes else "–", f"{stage.lead_bytes / 1e6:.0f} MB"]
        print("| " + " | ".join(row) + " |")
    print(end="", flush=True)


def ratio_table(found: Watched, usual: Watched) -> None:
    """Print core seconds of each stage beside those of the usual way, as rows of a table."""
    print("| stage | s of cores in shards | without | ratio |\n|---|---|---|---|")
    for name, stage in found.stages.items():
        other = usual.stages.get(name, Stage()).core_seconds
        ratio = f"{stage.core_seconds / other:.1f}" if other else "–"
        print(f"| {name} | {stage.core_seconds:.1f} | {other:.1f} | {ratio} |")
    ratio = found.core_seconds / usual.core_seconds
    print(f"| all | {found.core_seconds:.0f} | {usual.core_seconds:.0f} | {ratio:.1f} |", flush=True)
