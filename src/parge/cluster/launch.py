"""Start all shards of a stage at the same time: as tasks of an engine, or as threads where the engine is this process.

`parge.cluster.run` calls `ShardLauncher.run` for each stage.
"""

import contextlib
import secrets
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parge.cluster.mesh import run_local
from parge.cluster.rendezvous import LOOPBACK, Rendezvous, folder_name
from parge.cluster.sockets import Program, take_part
from parge.engine.base import Engine, Progress, Task
from parge.events import OnStep, ignore_step
from parge.run.schema import MESH

# An address of the Internet that nobody has (RFC 5737): whatever leads there is the way to other machines.
_ELSEWHERE = "192.0.2.1"


@dataclass(frozen=True)
class ShardTask:
    """What one shard needs to take part in a stage."""

    rank: int
    rendezvous: Rendezvous
    program: Program


def run_shard(task: ShardTask, _progress: Progress) -> dict[str, Any]:
    """Take part in a stage: what a worker does."""
    return take_part(task.rank, task.rendezvous, task.program)


@dataclass(frozen=True)
class ShardLauncher:
    """Runs stages on shards.

    A shard is a task of the engine: limited, measured and ended as any worker, and started again when it is lost. All
    shards of a stage run at the same time, because they talk to each other.
    """

    engine: Engine  # runs the tasks
    folder: Path  # the run folder, which all shards see
    limits: Sequence[int] | None = None  # the most bytes of each shard
    # An address of this machine that shards can reach; the loopback if all are on this machine.
    coordinator_host: str = LOOPBACK
    on_retry: OnStep = ignore_step  # called when a shard is started again
    token: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    def run(self, name: str, size: int, program: Program) -> list[dict[str, Any]]:
        """Run a program on that many shards; return what each returned."""
        if self.engine.in_this_process:
            return run_local(size, program)
        with self._rendezvous(name, size) as rendezvous:
            tasks = [self._task(rank, rendezvous, program, name) for rank in range(size)]
            engine = self.engine.at_once(size)
            found = {task.key: answer for task, answer in engine.run(tasks, lambda _task, _share: None)}
            return [found[rank] for rank in range(size)]

    @contextmanager
    def _rendezvous(self, name: str, size: int) -> Iterator[Rendezvous]:
        place = self.folder / MESH / folder_name(name)
        try:
            yield Rendezvous(place, size, self.token, self.coordinator_host)
        finally:
            shutil.rmtree(place, ignore_errors=True)
            with contextlib.suppress(OSError):
                place.parent.rmdir()

    def _task(self, rank: int, rendezvous: Rendezvous, program: Program, name: str) -> Task:
        limit = None if self.limits is None else self.limits[rank]
        return Task(
            key=rank,
            function=run_shard,
            argument=ShardTask(rank, rendezvous, program),
            limit_bytes=limit,
            label=f"shard {rank} ({name})",
            needs_others=True,
            on_retry=self.on_retry,
        )


def own_address(cluster: str | None) -> str:
    """Return the address of this machine that others see: the one by which it reaches the cluster, if that is named."""
    host = (cluster or "").rpartition("://")[2].rpartition(":")[0]
    for towards in filter(None, (host, _ELSEWHERE)):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((towards, 9))  # nothing is sent: the system says by which of our addresses it would be
            return str(probe.getsockname()[0])
    return LOOPBACK
