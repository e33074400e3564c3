"""Tasks on the nodes of a Ray cluster: what runs on a node, and what is decided here.

Ray knows what each task needs: one core, and its projected bytes as ``memory``. Tasks that need each other all run at
the same time: where there are more of them than cores, they share cores. The choice of the node, and retries after a
worker is lost, are decided here, so that they can be explained. On the node, a Ray task supervises a process of
our own (`parge.engine.processes`), which is limited, measured and ended as on this machine.
"""

import contextlib
import selectors
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from parge.engine.base import (
    ATTEMPTS_CRASHED,
    ATTEMPTS_KILLED,
    End,
    Task,
    Watch,
    WorkerError,
    with_advice,
)
from parge.engine.processes import Child
from parge.engine.ray_cluster import NODES_SECONDS, Node, Nodes, first_line, names_of, on_node
from parge.engine.remote_task import Files, Portable, RemoteTask, private_folder
from parge.errors import InfeasibleError
from parge.memory import format_bytes

RAY_WORKER_BYTES = 100_000_000
"""Ray's own process for each task, which hands files over and supervises ours: 61 MB of its own were measured."""

_POLL_SECONDS = 0.05  # how often messages of a worker are read, on its node
_WAIT_SECONDS = 0.25  # how long to wait for messages of any of them, here
_CANCEL_SECONDS = 10.0  # time for a worker to end its process and remove its files

# A node that has lost the worker of a task gets it again only after this. One that Ray itself calls gone is in the
# list of nodes until it has missed its heartbeats, half a minute later.
_AVOID_SECONDS = 2.0
_AVOID_GONE_SECONDS = 60.0

# A task that has not started after this time is sent elsewhere: others may use the node. Every time it is
# waited twice as long, because Ray's workers start slowly on busy machines.
_BEGIN_SECONDS = 60.0


def run_guarded(remote: RemoteTask, files: list[Any], threads: int) -> Iterator[tuple[str, Any]]:
    """Run a task in a separate process; yield its start, its progress, its end and the files it wrote.

    Its input files are fetched here, by the one reference in `files`. As an argument, Ray would hold them on the node
    before the task starts, within a share of the object store. Ray 2.60 does not release those of killed drivers, and
    some others, so that after a while no task can start.
    """
    yield "started", None
    with private_folder() as folder:
        child = Child(remote.opened(folder, _fetched(files.pop())), threads)
        try:
            child.send()
            with selectors.DefaultSelector() as selector:
                for pipe in child.pipes:
                    selector.register(pipe, selectors.EVENT_READ)
                while not child.has_ended():
                    selector.select(_POLL_SECONDS)
                    child.receive()
                    while child.progress:
                        yield "share", child.progress.pop(0)
        finally:
            child.kill()
            end = child.reap()
        for share in child.progress:
            yield "share", share
        yield "end", (cloudpickle.dumps(end), remote.results(folder) if end.done else {})


def _fetched(files: Any) -> Files:
    import ray

    found: Files = ray.get(files)
    return found


@dataclass(frozen=True)
class _Done:
    """The result of a task."""

    value: Any


_Outcome = _Done | BaseException | None
"""None if the task must be retried."""


@dataclass(frozen=True, eq=False)
class _Sent:
    """A task that was sent to a node; if it has not started after `patience` seconds, it is sent again."""

    task: Task
    node: Node
    on_progress: Any
    resources: ExitStack = field(repr=False)
    patience: float = float("inf")
    since: float = field(default_factory=time.monotonic)


class Schedule:
    """The tasks that wait, and those that were sent."""

    def __init__(self, ray: Any, most: int | None, threads: int, watch: Watch) -> None:
        self.ray, self.most, self.threads, self.watch = ray, most, threads, watch
        self.nodes = Nodes(ray)
        self.running: dict[Any, _Sent] = {}
        self.started: set[Any] = set()
        self.cancelled: list[Any] = []
        self.refused: list[tuple[Task, BaseException]] = []
        self.attempts: Counter[int] = Counter()
        self.not_started: Counter[int] = Counter()
        self.avoided: dict[tuple[int, str], float] = {}
        self.lost: dict[int, str] = {}
        self.guarded = ray.remote(run_guarded)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, _Done | BaseException]]:
        """Yield each task with its result or its failure."""
        waiting = sorted(tasks, key=lambda task: -task.projected_bytes)
        nodes = self.nodes.usable_now()
        for task in waiting:
            if not _fits_any(task, nodes):
                raise with_advice(task, self._fits_nowhere(task, nodes))
        _check_room([task for task in waiting if task.needs_others], nodes)
        while waiting or self.running:
            waiting = self._send(waiting)
            while self.refused:
                yield self.refused.pop()
            if self.running:
                yield from self._collect(waiting)
            elif any(_fits_any(task, self.nodes.usable()) for task in waiting):
                time.sleep(_WAIT_SECONDS)  # until a node that lost a worker is found dead, or trusted again
            else:
                nodes = self.nodes.usable(patience=NODES_SECONDS)
                yield from ((task, self._fits_nowhere(task, nodes)) for task in waiting)
                return

    def _send(self, waiting: list[Task]) -> list[Task]:
        """Send the tasks that fit on a node now, the largest first; return those that must wait.

        A waiting task reserves the largest node that can hold it, or it would wait until all smaller tasks are done.
        """
        kept: set[str] = set()
        left = []
        for task in waiting:
            nodes = [node for node in self.nodes.usable() if node.id not in kept]
            node = self._place(task, nodes) if self.most is None or len(self.running) < self.most else None
            if node is not None:
                try:
                    self._begin(task, node)
                except Exception as error:  # noqa: BLE001  another process has its folder, say; the others go on
                    self.refused.append((task, error))
                else:
                    self.watch(task, 0.0)
                continue
            left.append(task)
            could = [node for node in nodes if _fits_any(task, [node])]
            if could:
                kept.add(max(could, key=lambda node: node.memory).id)
        return left

    def _place(self, task: Task, nodes: list[Node]) -> Node | None:
        """Return the node that has room now, with the largest share of free cores, then the least spare memory."""
        now = time.monotonic()
        best: tuple[Any, ...] = ()
        for node in nodes:
            there = [sent.task for sent in self.running.values() if sent.node.id == node.id]
            spare = node.memory - sum(map(_needs, there)) - _needs(task)
            avoided = self.avoided.get((task.key, node.id), 0.0)
            if spare < 0 or now < avoided or (len(there) >= node.cores and not task.needs_others):
                continue
            rank = (avoided > 0, len(there) / node.cores, spare, node.name, node.id)
            if not best or rank < best[0]:
                best = (rank, node)
        return best[1] if best else None

    def _begin(self, task: Task, node: Node) -> None:
        n_there = sum(sent.node.id == node.id for sent in self.running.values())
        # Ray starts as many workers at a time as a node has cores.
        patience = _BEGIN_SECONDS * (2 ** self.not_started[task.key] + n_there // node.cores)
        with ExitStack() as resources:
            job = task.argument
            on_progress = resources.enter_context(job.locked_for_remote()) if isinstance(job, Portable) else None
            remote, files = RemoteTask.of(task)
            options = self.guarded.options(
                num_cpus=int(n_there < node.cores),
                memory=_needs(task),
                max_retries=0,
                name=task.label,
                **on_node(self.ray, node),
            )
            stream = options.remote(remote, [self.ray.put(files)], self.threads)
            self.running[stream] = _Sent(task, node, on_progress, resources.pop_all(), patience)
        self.attempts[task.key] += 1

    def _collect(self, waiting: list[Task]) -> Iterator[tuple[Task, _Done | BaseException]]:
        """Wait briefly for messages; yield the tasks that ended, and put those to retry back into `waiting`."""
        self.ray.wait(list(self.running), num_returns=1, timeout=_WAIT_SECONDS)
        checked_at = time.monotonic()  # a task that starts from now on is noticed the next time
        ready, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=0)
        for stream in ready:
            sent = self.running[stream]
            outcome: _Outcome
            try:
                kind, value = self.ray.get(next(stream))
            except (self.ray.exceptions.RayError, StopIteration) as error:
                outcome = self._lost(sent, error)
            else:
                self.started.add(stream)
                if kind == "started":
                    continue
                if kind == "share":
                    self._progress(sent, value)
                    continue
                outcome = self._ended(sent, *value)
            self._drop(stream)
            if outcome is None:
                waiting.insert(0, sent.task)
            else:
                yield sent.task, outcome
        waiting[:0] = self._not_started(checked_at)

    def _not_started(self, checked_at: float) -> list[Task]:
        """Return the tasks that did not start on their node, to send them again; to another node if there is one."""
        back = []
        for stream, sent in list(self.running.items()):
            if stream in self.started or checked_at < sent.since + sent.patience:
                continue
            with contextlib.suppress(Exception):
                self.ray.cancel(stream)
            self.cancelled.append(stream)
            self._drop(stream)
            self.attempts[sent.task.key] -= 1
            self.not_started[sent.task.key] += 1
            self._retry(
                sent,
                f"{sent.node.name} did not start {sent.task.label} for {sent.patience:.0f} s (it may be in use); "
                "sent again",
            )
            back.append(sent.task)
        return back

    def _drop(self, stream: Any) -> None:
        self.running.pop(stream).resources.close()
        self.started.discard(stream)

    def _progress(self, sent: _Sent, share: float) -> None:
        if sent.on_progress is not None:
            sent.on_progress(share)
        self.watch(sent.task, share)

    def _ended(self, sent: _Sent, pickled: bytes, files: Files) -> _Outcome:
        """Return the outcome of a task that ended; None if it must be retried."""
        task = sent.task
        try:
            end: End = cloudpickle.loads(pickled)  # from our own worker
            if end.done and end.answer is not None:
                if isinstance(task.argument, Portable):
                    task.argument.store(files)
                return _Done(end.answer[1])
        except Exception as error:  # noqa: BLE001  an answer that cannot be read or kept is the task's failure
            return error
        attempts = self.attempts[task.key]
        if attempts < end.attempts():
            self._retry(sent, f"on {sent.node.name}: {end.retried(task, attempts + 1)}")
            return None
        return end.failure(task)

    def _lost(self, sent: _Sent, error: BaseException) -> BaseException | None:
        """Return the failure of a task whose worker, or its node, was lost; None if it must be retried."""
        task, attempts = sent.task, self.attempts[sent.task.key]
        most = ATTEMPTS_CRASHED if isinstance(error, self.ray.exceptions.RayTaskError) else ATTEMPTS_KILLED
        why = f"the worker of {task.label} on {sent.node.name} was lost ({_reason(self.ray, error)})"
        self.lost[task.key] = why
        if attempts < most:
            gone = isinstance(error, _gone(self.ray))
            reason = f"{why}; attempt {attempts + 1} of {most}"
            self._retry(sent, reason, _AVOID_GONE_SECONDS if gone else _AVOID_SECONDS)
            return None
        return WorkerError(
            f"{why}, after {attempts} attempts; it needs {format_bytes(_needs(task))}; "
            f"the nodes have: {names_of(self.nodes.usable())}"
        )

    def _retry(self, sent: _Sent, reason: str, avoid_seconds: float = _AVOID_SECONDS) -> None:
        self.avoided[sent.task.key, sent.node.id] = time.monotonic() + avoid_seconds
        sent.task.on_retry(reason)

    def _fits_nowhere(self, task: Task, nodes: list[Node]) -> WorkerError:
        lost = self.lost.get(task.key)
        return WorkerError(
            f"{f'{lost}, and no other node has room: ' if lost else ''}{task.label} needs "
            f"{format_bytes(_needs(task))} ({format_bytes(RAY_WORKER_BYTES)} of them for Ray's own worker); the nodes "
            f"have: {names_of(nodes)}. Start a larger node, or plan smaller subgraphs (--memory auto, or more --parts)."
        )

    def stop(self) -> None:
        """End all workers and wait until they have ended."""
        for stream in self.running:
            with contextlib.suppress(Exception):
                self.ray.cancel(stream)
        until = time.monotonic() + _CANCEL_SECONDS
        for stream in [*self.running, *self.cancelled]:
            if not self._is_over(stream, until):
                with contextlib.suppress(Exception):
                    self.ray.cancel(stream, force=True)
            if stream in self.running:
                self._drop(stream)
        self.cancelled = []

    def _is_over(self, stream: Any, until: float) -> bool:
        """Return whether a task has ended before that time."""
        while True:
            try:
                ready, _ = self.ray.wait([stream], timeout=max(0.0, until - time.monotonic()))
                if not ready:
                    return False
                self.ray.get(next(stream))
            except (Exception, StopIteration):  # noqa: BLE001  however it ended
                return True


def _needs(task: Task) -> int:
    return task.projected_bytes + RAY_WORKER_BYTES


def _check_room(tasks: Sequence[Task], nodes: Sequence[Node]) -> None:
    """Refuse tasks that need each other where nodes have no memory for all of them at the same time."""
    free = {node.id: node.memory for node in nodes}
    for task in tasks:
        roomiest = max(free, key=lambda id_: free[id_])
        free[roomiest] -= _needs(task)
        if free[roomiest] < 0:
            raise InfeasibleError(
                f"{len(tasks)} tasks run at the same time and need {format_bytes(sum(map(_needs, tasks)))} in all; the "
                f"nodes have: {names_of(nodes)}. Each needs {format_bytes(RAY_WORKER_BYTES)} for Ray's own worker. "
                "Plan fewer parts, or start more nodes."
            )


def _fits_any(task: Task, nodes: Sequence[Node]) -> bool:
    return any(_needs(task) <= node.memory for node in nodes)


def _gone(ray: Any) -> tuple[type[BaseException], ...]:
    return (ray.exceptions.NodeDiedError, ray.exceptions.TaskUnschedulableError)


def _reason(ray: Any, error: BaseException) -> str:
    """Return a short reason why a worker was lost, from Ray's exception."""
    known = ray.exceptions
    if isinstance(error, known.OutOfMemoryError):
        return "Ray ended it because the node was short of memory"
    if isinstance(error, known.WorkerCrashedError):
        return "its process or its node ended"
    if isinstance(error, _gone(ray)):
        return "its node left the cluster"
    if isinstance(error, known.ObjectLostError):
        return "its answer was lost with its node"
    if isinstance(error, known.RayTaskError):
        return first_line(error.cause if isinstance(error.cause, BaseException) else error)
    return first_line(error)
