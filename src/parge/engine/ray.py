"""Tasks on the nodes of a Ray cluster: sent with their files to a node with enough memory, retried on another one.

Everything about Ray is in this file. Ray knows what each task needs (one core, and its projected bytes as
``memory``); the choice of the node, and retries after a worker is lost, are decided here, so that they can be
explained. On the node, a Ray task supervises a process of our own (`parge.engine.processes`), which is limited,
measured and ended as on this machine.
"""

import contextlib
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle

import parge
from parge.engine.base import (
    ATTEMPTS_CRASHED,
    ATTEMPTS_KILLED,
    End,
    Engine,
    Task,
    Watch,
    WorkerError,
    raise_first,
    takes_workers,
    with_advice,
)
from parge.engine.parcel import Files, Parcel, Portable, private_folder
from parge.engine.processes import Child
from parge.errors import Extra, InputError, PargeError
from parge.memory import current_limit, format_bytes, limit_memory, private_bytes

# Ray's own process beside each task, which hands files over and looks after ours: 61 MB of its own were measured.
RAY_WORKER_BYTES = 100_000_000

_POLL_SECONDS = 0.05  # how often a worker is listened to, on its node
_WAIT_SECONDS = 0.25  # how long to wait for news of any of them, here
_NODES_SECONDS = 1.0  # how often to ask which nodes are in the cluster
# A node that does not answer for that long is not used; as long again four times where none does (on a machine with
# twenty programs at work, the first worker of Ray took 90 s to start).
_GREETING_SECONDS = 60.0
_CANCEL_SECONDS = 10.0  # time for a worker to end its process and remove its files
_CONNECT_SECONDS = 5.0

# Ray reports nothing home, and says nothing that we do not say ourselves.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}

# A node that has lost the worker of a task gets it again only after this. One that Ray itself calls gone is in the
# list of nodes until it has missed its heartbeats, half a minute later.
_AVOID_SECONDS = 2.0
_AVOID_GONE_SECONDS = 60.0

# A task that has not begun for so long where it was sent is sent elsewhere: others may use the node. Every time it is
# waited twice as long, because Ray's workers start slowly on busy machines.
_BEGIN_SECONDS = 60.0


@dataclass(frozen=True)
class Node:
    """A machine of the cluster: its name, its cores, and its memory in bytes."""

    id: str
    name: str
    cores: int
    memory: int

    def __str__(self) -> str:
        return f"{self.name} {format_bytes(self.memory)}"


@takes_workers
@dataclass(frozen=True)
class Ray(Engine):
    """Runs each task on a node of a Ray cluster that has a core and the memory for it.

    Parameters
    ----------
    jobs : int, optional
        Maximum number of tasks at once; by default as many as the cluster's cores and memory allow.
    address : str, optional
        ``HOST:PORT`` of a cluster; by default that of RAY_ADDRESS, or the cluster that runs on this machine. If
        there is none, a cluster of only this machine is started, and stopped at the end.
    threads : int
        Threads of the numerical libraries in each worker.
    """

    name: ClassVar[str] = "ray"
    needs_extra: ClassVar[Extra | None] = Extra("ray", "Ray", "ray")

    jobs: int | None = None
    address: str | None = None
    threads: int = 1

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result as it finishes; failures are raised after the last task."""
        if not tasks:
            return
        failures: list[BaseException] = []
        with _joined(self.address) as ray:
            schedule = _Schedule(ray, self.jobs, self.threads, watch)
            try:
                for task, outcome in schedule.run(tasks):
                    if isinstance(outcome, BaseException):
                        failures.append(with_advice(task, outcome))
                    else:
                        yield task, outcome.value
            finally:
                schedule.stop()
        raise_first(failures, len(tasks))

    def worker_memory(self) -> list[int]:
        """Return the memory for one task of every node with a core, in bytes, the largest first."""
        with _joined(self.address) as ray:
            found = _Nodes(ray)
            nodes = found.usable_now()
        if found.silent:
            raise PargeError(
                f"--memory auto asks every node, and {', '.join(found.silent)} did not answer for "
                f"{_GREETING_SECONDS:.0f} s. Stop Ray there, or give the memory of each worker (--memory 2GB,4GB)."
            )
        sizes = sorted((node.memory - RAY_WORKER_BYTES for node in nodes), reverse=True)
        if not sizes or sizes[-1] <= 0:
            raise InputError(
                f"--memory auto uses the memory of every node beyond the {format_bytes(RAY_WORKER_BYTES)} of Ray's own "
                f"worker; the cluster has {_names(nodes)}. Start nodes with more (ray start --memory BYTES)."
            )
        return sizes


# ------------------------------------------------------------------------------------------------ joining a cluster


@contextmanager
def _joined(address: str | None) -> Iterator[Any]:
    """Yield Ray, connected; a connection of the caller is used and not closed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)  # before the import: Ray's compiled part looks once
    import ray

    if ray.is_initialized():
        yield ray
        return
    _check_address(address or os.environ.get("RAY_ADDRESS"))
    if not address and not os.environ.get("RAY_ADDRESS"):
        _refuse_cluster_of_another()
    # Ray writes warnings of its own to stdout, where our JSON goes, and what it warns of is said by us.
    logging.getLogger("ray").setLevel(logging.ERROR)
    with _uncapped():
        _connect(ray, address)
        try:
            yield ray
        finally:
            with _own_signals():
                ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    with _own_signals():
        try:
            ray.init(
                address, include_dashboard=False, log_to_driver=False, configure_logging=False, logging_level="ERROR"
            )
        except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
            ray.shutdown()
            raise PargeError(_why_not_joined(address or os.environ.get("RAY_ADDRESS", ""), error)) from error
    ray._private.worker._worker_logs_enabled = False  # the only switch for what the cluster prints here


@contextmanager
def _uncapped() -> Iterator[None]:
    """Lift our own memory limit meanwhile: Ray reserves far more than it uses, and a cluster of ours inherits it.

    (With a limit of 1 GB, ray.init did not return.) While the subgraphs are elsewhere, we use little more than before.
    What Ray leaves in this process, its code and threads, is not counted in the limit; neither are our own libraries.
    """
    limit, before = current_limit(), private_bytes()
    if limit is None:
        yield
        return
    limit_memory(None)
    try:
        yield
    finally:
        limit_memory(limit + max(0, private_bytes() - before))


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore our handler of SIGTERM, which interrupts as Ctrl-C does.

    `ray.init` replaces it by one that exits with 15; a signal that comes just then is handed to ours. `ray.shutdown`
    (2.60) resets it below Python, which still believes that it is there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as exiting:
        if exiting.code == signal.SIGTERM and callable(before):
            before(signal.SIGTERM, None)
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _check_address(address: str | None) -> None:
    """Refuse an address that does not answer: Ray itself would wait for minutes, then end this process."""
    if address in (None, "", "auto", "local"):
        return
    host, _, port = str(address).rpartition(":")
    if "://" in str(address) or not host or not port.isdecimal():
        raise InputError(f"the address of a Ray cluster must be HOST:PORT, such as 10.0.0.1:6379; got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"no Ray cluster answers at {address} ({error}). To start one there: ray start --head --port {port}"
        ) from error


def _refuse_cluster_of_another() -> None:
    """Refuse a cluster on this machine that another user started: it could run code here.

    Ray writes the address of the latest one into a folder that every user may write to.
    """
    usual = os.environ.get("TMPDIR") if sys.platform == "linux" else None
    note = Path(os.environ.get("RAY_TMPDIR") or usual or "/tmp") / "ray" / "ray_current_cluster"
    with contextlib.suppress(OSError):
        owner = note.lstat().st_uid
        if owner not in (os.getuid(), 0):
            raise InputError(
                f"the Ray cluster of this machine was started by another user ({note} belongs to user {owner}). If "
                "you trust them, give its --address; if not, start your own: ray start --head"
            )


def _why_not_joined(address: str, error: BaseException) -> str:
    """Return in one line why a cluster could not be joined, and what to do, if Ray's message says it."""
    what, said = f"the Ray cluster {address}".rstrip(), f"{type(error).__name__} {error} {error.__cause__}"
    if "AuthToken" in said or "AuthenticationError" in said:
        return (
            f"{what} needs its token. Set RAY_AUTH_MODE=token here, and copy ~/.ray/auth_token from the machine "
            "that started the cluster."
        )
    if "No node info found" in said:
        return (
            f"{what} does not know this machine. Join it first: ray start --address={address} (add --num-cpus=0 to "
            "embed nothing here)"
        )
    return f"Cannot join {what}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}" if lines else type(error).__name__


# -------------------------------------------------------------------------------------------------- its nodes


class _Nodes:
    """The nodes that are alive, have a core, and have the same version of parge."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.greeted: dict[str, Any] = {}
        self.version: dict[str, str] = {}
        self.last = -_NODES_SECONDS
        self.alive: dict[str, Node] = {}

    def usable(self, *, patience: float = 0.0) -> list[Node]:
        """Return the nodes that can run tasks; new ones only after they have answered."""
        self._look()
        self._greet([node for node in self.alive.values() if node.id not in self.greeted])
        waiting = {ref: id_ for id_, ref in self.greeted.items() if id_ not in self.version}
        if waiting:
            ready, _ = self.ray.wait(list(waiting), num_returns=len(waiting), timeout=patience)
            for ref in ready:
                try:
                    self.version[waiting[ref]] = self.ray.get(ref)
                except self.ray.exceptions.RayError:  # the node is gone, or will be greeted again
                    del self.greeted[waiting[ref]]
        return [node for node in self.alive.values() if self.version.get(node.id) == parge.__version__]

    @property
    def silent(self) -> list[str]:
        """The nodes that have not answered yet."""
        return [node.name for node in self.alive.values() if node.id not in self.version]

    def _look(self) -> None:
        if time.monotonic() - self.last < _NODES_SECONDS:
            return
        self.last = time.monotonic()
        found = [_node(entry) for entry in self.ray.nodes() if entry["Alive"]]
        self.alive = {node.id: node for node in sorted(found, key=lambda node: node.name) if node.cores >= 1}

    def _greet(self, nodes: list[Node]) -> None:
        for node in nodes:
            ask = self.ray.remote(_version_asked()).options(num_cpus=0, max_retries=0, **_on(self.ray, node))
            self.greeted[node.id] = ask.remote()

    def _answered(self, patience: float) -> list[Node]:
        """Return the nodes that can run tasks, when all have answered or that time is over."""
        until = time.monotonic() + patience
        while True:
            found = self.usable(patience=max(0.0, until - time.monotonic()))
            if not self.silent or time.monotonic() >= until:
                return found
            time.sleep(_NODES_SECONDS)  # a greeting has failed: is the node gone, or to be greeted again?

    def usable_now(self) -> list[Node]:
        """Return the nodes that can run tasks, when all of them have answered; refuse other versions of parge."""
        found = self._answered(_GREETING_SECONDS)
        if self.silent and not self.version:
            found = self._answered(4 * _GREETING_SECONDS)
        if self.silent and not self.version:
            raise PargeError(
                f"no Ray worker starts on {', '.join(self.silent)}: none answered for {5 * _GREETING_SECONDS:.0f} "
                "s. See the Ray logs there."
            )
        others = [
            f"{node.name} has {self.version[node.id] or 'none'}"
            for node in self.alive.values()
            if self.version.get(node.id, parge.__version__) != parge.__version__
        ]
        if others:
            raise PargeError(
                f"this is parge {parge.__version__}; {', '.join(others)}. Install the same version on every node."
            )
        return found


def _version_asked() -> Any:
    """Return a function that gets the parge version of a node; it is nested, so it is pickled by value."""

    def version() -> str:
        try:
            import parge
        except ImportError:
            return ""
        return parge.__version__

    return version


def _node(entry: dict[str, Any]) -> Node:
    has = entry["Resources"]
    name = entry.get("NodeName") or entry["NodeManagerAddress"]
    return Node(entry["NodeID"], name, int(has.get("CPU", 0)), int(has.get("memory", 0)))


def _on(ray: Any, node: Node) -> dict[str, Any]:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, soft=False)}


def _names(nodes: Sequence[Node]) -> str:
    return ", ".join(map(str, nodes)) or "no node with a core"


# ---------------------------------------------------------------------------------------------------- on the node


def run_guarded(parcel: Parcel, files: list[Any], threads: int) -> Iterator[tuple[str, Any]]:
    """Run a task in a separate process; yield its start, its progress, its end and the files it wrote.

    Its input files are fetched here, by the one reference in `files`. As an argument, Ray would hold them on the node
    before the task starts, within a share of the object store; Ray 2.60 does not release those of killed drivers (and
    some others), until no later task can start.
    """
    yield "begun", None
    with private_folder() as folder:
        child = Child(parcel.opened(folder, _fetched(files.pop())), threads)
        try:
            child.send()
            with selectors.DefaultSelector() as selector:
                for pipe in child.pipes:
                    selector.register(pipe, selectors.EVENT_READ)
                while not child.has_ended():
                    selector.select(_POLL_SECONDS)
                    child.hear()
                    while child.progress:
                        yield "share", child.progress.pop(0)
        finally:
            child.kill()
            end = child.reap()
        for share in child.progress:
            yield "share", share
        yield "end", (cloudpickle.dumps(end), parcel.results(folder) if end.done else {})


def _fetched(files: Any) -> Files:
    import ray

    found: Files = ray.get(files)
    return found


# ---------------------------------------------------------------------------------------------------------- from here


@dataclass(frozen=True)
class _Done:
    """The result of a task."""

    value: Any


_Outcome = _Done | BaseException | None
"""None if the task must be retried."""


@dataclass(frozen=True, eq=False)
class _Sent:
    """A task that was sent to a node; if it has not started by that time, it is sent again."""

    task: Task
    node: Node
    tell: Any
    home: ExitStack = field(repr=False)
    until: float = float("inf")


class _Schedule:
    """The tasks that wait, and those that were sent."""

    def __init__(self, ray: Any, most: int | None, threads: int, watch: Watch) -> None:
        self.ray, self.most, self.threads, self.watch = ray, most, threads, watch
        self.nodes = _Nodes(ray)
        self.away: dict[Any, _Sent] = {}
        self.begun: set[Any] = set()
        self.cancelled: list[Any] = []
        self.refused: list[tuple[Task, BaseException]] = []
        self.attempts: Counter[int] = Counter()
        self.not_begun: Counter[int] = Counter()
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
        while waiting or self.away:
            waiting = self._send(waiting)
            while self.refused:
                yield self.refused.pop()
            if self.away:
                yield from self._hear(waiting)
            elif any(_fits_any(task, self.nodes.usable()) for task in waiting):
                time.sleep(_WAIT_SECONDS)  # until a node that lost a worker is found dead, or trusted again
            else:
                nodes = self.nodes.usable(patience=_NODES_SECONDS)
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
            node = self._place(task, nodes) if self.most is None or len(self.away) < self.most else None
            if node is not None:
                try:
                    self._begin(task, node)
                except Exception as error:  # noqa: BLE001  somebody else has its folder, say; the others go on
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
            there = [sent.task for sent in self.away.values() if sent.node.id == node.id]
            spare = node.memory - sum(map(_needs, there)) - _needs(task)
            avoided = self.avoided.get((task.key, node.id), 0.0)
            if spare < 0 or len(there) >= node.cores or now < avoided:
                continue
            rank = (avoided > 0, len(there) / node.cores, spare, node.name, node.id)
            if not best or rank < best[0]:
                best = (rank, node)
        return best[1] if best else None

    def _begin(self, task: Task, node: Node) -> None:
        patience = _BEGIN_SECONDS * 2 ** self.not_begun[task.key]
        with ExitStack() as home:
            job = task.argument
            tell = home.enter_context(job.away()) if isinstance(job, Portable) else None
            parcel, files = Parcel.of(task)
            options = self.guarded.options(
                num_cpus=1, memory=_needs(task), max_retries=0, name=task.label, **_on(self.ray, node)
            )
            stream = options.remote(parcel, [self.ray.put(files)], self.threads)
            self.away[stream] = _Sent(task, node, tell, home.pop_all(), time.monotonic() + patience)
        self.attempts[task.key] += 1

    def _hear(self, waiting: list[Task]) -> Iterator[tuple[Task, _Done | BaseException]]:
        """Wait briefly for messages; yield the tasks that ended, and put those to retry back into `waiting`."""
        self.ray.wait(list(self.away), num_returns=1, timeout=_WAIT_SECONDS)
        heard = time.monotonic()  # a task that starts from now on is noticed the next time
        ready, _ = self.ray.wait(list(self.away), num_returns=len(self.away), timeout=0)
        for stream in ready:
            sent = self.away[stream]
            outcome: _Outcome
            try:
                kind, value = self.ray.get(next(stream))
            except (self.ray.exceptions.RayError, StopIteration) as error:
                outcome = self._lost(sent, error)
            else:
                self.begun.add(stream)
                if kind == "begun":
                    continue
                if kind == "share":
                    self._tell(sent, value)
                    continue
                outcome = self._ended(sent, *value)
            self._drop(stream)
            if outcome is None:
                waiting.insert(0, sent.task)
            else:
                yield sent.task, outcome
        waiting[:0] = self._not_started(heard)

    def _not_started(self, heard: float) -> list[Task]:
        """Return the tasks that did not start on their node, to send them again; to another node if there is one."""
        back = []
        for stream, sent in list(self.away.items()):
            if stream in self.begun or heard < sent.until:
                continue
            with contextlib.suppress(Exception):
                self.ray.cancel(stream)
            self.cancelled.append(stream)
            self._drop(stream)
            self.attempts[sent.task.key] -= 1
            self.not_begun[sent.task.key] += 1
            waited = _BEGIN_SECONDS * 2 ** (self.not_begun[sent.task.key] - 1)
            self._retry(
                sent,
                f"{sent.node.name} did not start {sent.task.label} for {waited:.0f} s (it may be in use); sent again",
            )
            back.append(sent.task)
        return back

    def _drop(self, stream: Any) -> None:
        self.away.pop(stream).home.close()
        self.begun.discard(stream)

    def _tell(self, sent: _Sent, share: float) -> None:
        if sent.tell is not None:
            sent.tell(share)
        self.watch(sent.task, share)

    def _ended(self, sent: _Sent, pickled: bytes, files: Files) -> _Outcome:
        """Return the outcome of a task that ended; None if it must be retried."""
        task = sent.task
        try:
            end: End = cloudpickle.loads(pickled)  # from our own worker
            if end.done and end.answer is not None:
                if isinstance(task.argument, Portable):
                    task.argument.accept(files)
                return _Done(end.answer[1])
        except Exception as error:  # noqa: BLE001  an answer that cannot be read or kept is the task's failure
            return error
        begun = self.attempts[task.key]
        if begun < end.attempts():
            self._retry(sent, f"on {sent.node.name}: {end.retried(task, begun + 1)}")
            return None
        return end.failure(task)

    def _lost(self, sent: _Sent, error: BaseException) -> BaseException | None:
        """Return the failure of a task whose worker, or its node, was lost; None if it must be retried."""
        task, begun = sent.task, self.attempts[sent.task.key]
        most = ATTEMPTS_CRASHED if isinstance(error, self.ray.exceptions.RayTaskError) else ATTEMPTS_KILLED
        why = f"the worker of {task.label} on {sent.node.name} was lost ({_reason(self.ray, error)})"
        self.lost[task.key] = why
        if begun < most:
            gone = isinstance(error, _gone(self.ray))
            words = f"{why}; attempt {begun + 1} of {most}"
            self._retry(sent, words, _AVOID_GONE_SECONDS if gone else _AVOID_SECONDS)
            return None
        return WorkerError(f"{why}, after {begun} attempts; it needs {format_bytes(_needs(task))}; {self._there_is()}")

    def _retry(self, sent: _Sent, words: str, avoid_seconds: float = _AVOID_SECONDS) -> None:
        self.avoided[sent.task.key, sent.node.id] = time.monotonic() + avoid_seconds
        sent.task.on_retry(words)

    def _there_is(self) -> str:
        return f"the nodes have: {_names(self.nodes.usable())}"

    def _fits_nowhere(self, task: Task, nodes: list[Node]) -> WorkerError:
        lost = self.lost.get(task.key)
        return WorkerError(
            f"{f'{lost}, and no other node has room: ' if lost else ''}{task.label} needs "
            f"{format_bytes(_needs(task))} ({format_bytes(RAY_WORKER_BYTES)} of them for Ray's own worker); the nodes "
            f"have: {_names(nodes)}. Start a larger node, or plan smaller subgraphs (--memory auto, or more --parts)."
        )

    def stop(self) -> None:
        """End all workers and wait until they have ended."""
        for stream in self.away:
            with contextlib.suppress(Exception):
                self.ray.cancel(stream)
        until = time.monotonic() + _CANCEL_SECONDS
        for stream in [*self.away, *self.cancelled]:
            if not self._is_over(stream, until):
                with contextlib.suppress(Exception):
                    self.ray.cancel(stream, force=True)
            if stream in self.away:
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
        return "its process died, or its node did"
    if isinstance(error, _gone(ray)):
        return "its node is gone"
    if isinstance(error, known.ObjectLostError):
        return "its answer was lost with its node"
    if isinstance(error, known.RayTaskError):
        return _first_line(error.cause if isinstance(error.cause, BaseException) else error)
    return _first_line(error)
