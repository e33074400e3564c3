"""Rendezvous: a folder that all shards see, in which each one writes where it listens, and whether it failed.

`parge.cluster.launch` makes one for each stage; `parge.cluster.sockets` reads it until all shards are connected.
"""

import contextlib
import hashlib
import json
import os
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

from parge.errors import InfeasibleError, InputError, PargeError
from parge.run.arrays import DamagedError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Rendezvous:
    """How the shards of a stage find each other: the folder, their number and their common secret."""

    folder: Path  # a folder that all shards see, of this stage alone
    size: int  # how many shards there are
    token: str = field(repr=False)  # the secret of the run; it is in no file, and it never travels between shards
    # An address of the machine that started the run. A shard listens on the interface that reaches it; on one machine
    # that is the loopback.
    coordinator_host: str = LOOPBACK

    def host(self) -> str:
        """Return the address of this machine as others see it."""
        if self.coordinator_host == LOOPBACK:
            return LOOPBACK
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((self.coordinator_host, 9))
            return str(probe.getsockname()[0])

    def register(self, rank: int, endpoint: "Endpoint") -> None:
        """Write where a shard listens; a shard that is started again replaces its endpoint."""
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self._file_of(rank)
        fresh = place.with_suffix(f".{endpoint.start_id}")
        fresh.write_text(json.dumps([endpoint.host, endpoint.port, endpoint.start_id]))
        fresh.replace(place)

    def roster(self) -> "Roster | None":
        """Return where all shards listen, or None while some are missing."""
        found = []
        for rank in range(self.size):
            try:
                host, port, start_id = json.loads(self._file_of(rank).read_bytes())
            except (OSError, ValueError):
                return None
            found.append(Endpoint(str(host), int(port), str(start_id)))
        return Roster(tuple(found))

    def n_registered(self) -> int:
        """Return how many shards have registered."""
        return sum(self._file_of(rank).exists() for rank in range(self.size))

    def _file_of(self, rank: int) -> Path:
        return self.folder / f"{rank:05d}.json"

    def fail(self, session: str, error: BaseException) -> None:
        """Note why a session failed, for all others to read; the first failure counts."""
        kind = next((name for name, one in _KINDS.items() if isinstance(error, one)), "")
        with contextlib.suppress(OSError), self._failure(session).open("x") as file:
            file.write(json.dumps([kind, str(error) or type(error).__name__]))

    def failure(self, session: str) -> PargeError | None:
        """Return why a session failed, or None."""
        try:
            kind, message = json.loads(self._failure(session).read_bytes())
        except (OSError, ValueError):
            return None
        return _KINDS.get(kind, PargeError)(message)

    def _failure(self, session: str) -> Path:
        return self.folder / f"{session}.failed"

    @property
    def finished(self) -> Path:
        """The file that is there once all shards have answered."""
        return self.folder / "finished"

    def answer(self, rank: int) -> Path:
        """Return the file of a shard's answer."""
        return self.folder / f"{rank:05d}.answer"


@dataclass(frozen=True)
class Endpoint:
    """Where a shard listens, and an id that is new at every start."""

    host: str
    port: int
    start_id: str


@dataclass(frozen=True)
class Roster:
    """The endpoints of all shards at one moment."""

    endpoints: tuple[Endpoint, ...]

    @property
    def session(self) -> str:
        """A name that shards have in common if they have read the same endpoints."""
        return hashlib.sha256("".join(endpoint.start_id for endpoint in self.endpoints).encode()).hexdigest()[:16]


_KINDS: dict[str, type[PargeError]] = {"infeasible": InfeasibleError, "input": InputError, "damaged": DamagedError}


def folder_name(stage: str) -> str:
    """Return a new name for the folder of one stage, which no other stage has had."""
    return f"{stage}-{os.getpid()}-{secrets.token_hex(4)}"
