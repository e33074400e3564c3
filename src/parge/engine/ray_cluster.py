"""A Ray cluster: how it is joined, and which of its nodes can run tasks."""

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parge
from parge.errors import InputError, PargeError
from parge.memory import current_limit, format_bytes, limit_memory, private_bytes

NODES_SECONDS = 1.0
"""How often to ask which nodes are in the cluster."""

GREETING_SECONDS = 60.0
"""A node that does not answer for that long is not used; as long again four times where none does.

(On a machine with twenty programs at work, the first worker of Ray took 90 s to start.)
"""

_CONNECT_SECONDS = 5.0

# Ray reports nothing home, and says nothing that we do not say ourselves.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@contextmanager
def joined(address: str | None) -> Iterator[Any]:
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
    # Ray writes warnings of its own to stdout, where our JSON goes, and what it warns of is text by us.
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
    what, text = f"the Ray cluster {address}".rstrip(), f"{type(error).__name__} {error} {error.__cause__}"
    if "AuthToken" in text or "AuthenticationError" in text:
        return (
            f"{what} needs its token. Set RAY_AUTH_MODE=token here, and copy ~/.ray/auth_token from the machine "
            "that started the cluster."
        )
    if "No node info found" in text:
        return (
            f"{what} does not know this machine. Join it first: ray start --address={address} (add --num-cpus=0 to "
            "embed nothing here)"
        )
    return f"Cannot join {what}: {first_line(error)}"


def first_line(error: BaseException) -> str:
    """Return the class of an exception and its message on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}" if lines else type(error).__name__


@dataclass(frozen=True)
class Node:
    """A machine of the cluster: its name, its cores, and its memory in bytes."""

    id: str
    name: str
    cores: int
    memory: int

    def __str__(self) -> str:
        return f"{self.name} {format_bytes(self.memory)}"


class Nodes:
    """The nodes that are alive, have a core, and have the same version of parge."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.greeted: dict[str, Any] = {}
        self.version: dict[str, str] = {}
        self.last = -NODES_SECONDS
        self.alive: dict[str, Node] = {}

    def usable(self, *, patience: float = 0.0) -> list[Node]:
        """Return the nodes that can run tasks; new ones only after they have answered."""
        self._refresh()
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

    def _refresh(self) -> None:
        if time.monotonic() - self.last < NODES_SECONDS:
            return
        self.last = time.monotonic()
        found = [_node(entry) for entry in self.ray.nodes() if entry["Alive"]]
        self.alive = {node.id: node for node in sorted(found, key=lambda node: node.name) if node.cores >= 1}

    def _greet(self, nodes: list[Node]) -> None:
        for node in nodes:
            ask = self.ray.remote(_version_asked()).options(num_cpus=0, max_retries=0, **on_node(self.ray, node))
            self.greeted[node.id] = ask.remote()

    def _answered(self, patience: float) -> list[Node]:
        """Return the nodes that can run tasks, when all have answered or that time is over."""
        until = time.monotonic() + patience
        while True:
            found = self.usable(patience=max(0.0, until - time.monotonic()))
            if not self.silent or time.monotonic() >= until:
                return found
            time.sleep(NODES_SECONDS)  # a greeting has failed: is the node gone, or to be greeted again?

    def usable_now(self) -> list[Node]:
        """Return the nodes that can run tasks, when all of them have answered; refuse other versions of parge."""
        found = self._answered(GREETING_SECONDS)
        if self.silent and not self.version:
            found = self._answered(4 * GREETING_SECONDS)
        if self.silent and not self.version:
            raise PargeError(
                f"no Ray worker starts on {', '.join(self.silent)}: none answered for {5 * GREETING_SECONDS:.0f} "
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


def on_node(ray: Any, node: Node) -> dict[str, Any]:
    """Return the options that send a task to this node and to no other."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, soft=False)}


def names_of(nodes: Sequence[Node]) -> str:
    """Return names and memory of nodes, for messages."""
    return ", ".join(map(str, nodes)) or "no node with a core"
