"""The engine that runs tasks on the nodes of a Ray cluster; Ray itself is known to `ray_cluster` and `ray_schedule`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from parge.engine.base import Engine, Task, Watch, raise_first, with_advice
from parge.engine.ray_cluster import GREETING_SECONDS, Nodes, joined, names_of
from parge.engine.ray_schedule import RAY_WORKER_BYTES, Schedule
from parge.errors import Extra, InputError, PargeError
from parge.memory import format_bytes
from parge.values import takes_workers


@takes_workers
@dataclass(frozen=True)
class Ray(Engine):
    """Runs each task on a node of a Ray cluster that has a core and the memory for it.

    Use it on several machines. On the command line: ``--engine ray``.

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
        with joined(self.address) as ray:
            schedule = Schedule(ray, self.jobs, self.threads, watch)
            try:
                for task, outcome in schedule.run(tasks):
                    if isinstance(outcome, BaseException):
                        failures.append(with_advice(task, outcome))
                    else:
                        yield task, outcome.value
            finally:
                schedule.stop()
        raise_first(failures, tasks)

    @contextmanager
    def connected(self) -> Iterator[Engine]:
        """Stay in the cluster: one that was started for this process is not started again for every `run`."""
        with joined(self.address):
            yield self

    def worker_memory(self) -> list[int]:
        """Return the memory for one task of every node with a core, in bytes, the largest first."""
        with joined(self.address) as ray:
            found = Nodes(ray)
            nodes = found.usable_now()
        if found.silent:
            raise PargeError(
                f"--memory auto asks every node, and {', '.join(found.silent)} did not answer for "
                f"{GREETING_SECONDS:.0f} s. Stop Ray there, or give the memory of each worker (--memory 2GB,4GB)."
            )
        sizes = sorted((node.memory - RAY_WORKER_BYTES for node in nodes), reverse=True)
        if not sizes or sizes[-1] <= 0:
            raise InputError(
                f"--memory auto uses the memory of every node beyond the {format_bytes(RAY_WORKER_BYTES)} of Ray's own "
                f"worker; the cluster has {names_of(nodes)}. Start nodes with more (ray start --memory BYTES)."
            )
        return sizes
