"""One new process per task, its memory limited by the operating system; if one dies, the others continue."""

import selectors
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import psutil

from parge.blocks import machine_cores
from parge.engine.base import End, Engine, Task, Watch, WorkerError, raise_first, settle, takes_workers
from parge.engine.child import Child
from parge.tree import POLL_SECONDS

__all__ = ["Processes", "WorkerError"]

# Share of the free memory that running tasks may be projected to use together.
_FREE_SHARE = 0.9

# From this attempt on a task runs alone: where the system killed for want of memory, that is what helps.
_ALONE_FROM = 3


@takes_workers
@dataclass(frozen=True)
class Processes(Engine):
    """Runs each task in a separate process, as many at once as cores and memory allow.

    Parameters
    ----------
    jobs : int, optional
        Maximum number of tasks at once; by default one per core.
    threads : int
        Threads of the numerical libraries in each worker.
    """

    name: ClassVar[str] = "processes"
    joins_cluster: ClassVar[bool] = False

    jobs: int | None = None
    threads: int = 1

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result as it finishes; failures are raised after the last task."""
        pool = _Pool(self.jobs or machine_cores(), self.threads, watch)
        failures: list[BaseException] = []
        try:
            for task, end in pool.run(tasks):
                if end.done and end.answer is not None:
                    yield task, end.answer[1]
                else:
                    failures.append(settle(task, end.failure(task)))
        finally:
            pool.stop()
        raise_first(failures, len(tasks))


class _Pool:
    """The workers that are alive, and the tasks that wait."""

    def __init__(self, most: int, threads: int, watch: Watch) -> None:
        self.most, self.threads, self.watch = most, threads, watch
        self.alive: list[Child] = []
        self.attempts: Counter[int] = Counter()
        self.selector = selectors.DefaultSelector()
        self.budget = int(psutil.virtual_memory().available * _FREE_SHARE)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, End]]:
        # The largest first: the last to finish decides when all are done.
        waiting = sorted(tasks, key=lambda task: -task.projected_bytes)
        while waiting or self.alive:
            while waiting and self._has_room(waiting[0]):
                self._start(waiting.pop(0))
            for task, end in self._ended():
                begun = self.attempts[task.key]
                if not end.done and begun < end.attempts():
                    task.on_retry(end.retried(task, begun + 1))
                    waiting.insert(0, task)
                else:
                    yield task, end

    def _has_room(self, task: Task) -> bool:
        if not self.alive:
            return True
        if max(self.attempts[other.key] + (other is task) for other in [task, *self._tasks()]) >= _ALONE_FROM:
            return False
        used = sum(other.projected_bytes for other in self._tasks())
        return len(self.alive) < self.most and used + task.projected_bytes <= self.budget

    def _tasks(self) -> list[Task]:
        return [child.task for child in self.alive]

    def _start(self, task: Task) -> None:
        self.attempts[task.key] += 1
        child = Child(task, self.threads)
        self.alive.append(child)
        for pipe in child.pipes:
            self.selector.register(pipe, selectors.EVENT_READ, child)
        self.watch(task, 0.0)
        child.send()

    def _ended(self) -> list[tuple[Task, End]]:
        """Wait briefly for messages; return the tasks whose workers have ended, and how."""
        for key, _ in self.selector.select(POLL_SECONDS):
            key.data.hear()
        ended = []
        for child in list(self.alive):
            if child.has_ended():
                ended.append((child.task, self._reap(child)))
            while child.progress:
                self.watch(child.task, child.progress.pop(0))
        return ended

    def _reap(self, child: Child) -> End:
        for pipe in child.pipes:
            self.selector.unregister(pipe)
        self.alive.remove(child)
        return child.reap()

    def stop(self) -> None:
        """End all workers and wait until they have ended."""
        for child in self.alive:
            child.kill()
        for child in list(self.alive):
            self._reap(child)
        self.selector.close()
