"""Where shards meet: a folder that all of them see, in which each says where it listens, and whether it failed."""

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
class Meeting:
    """Where shards meet, and what lets them talk.

    Parameters
    ----------
    folder : Path
        A folder that all shards see, of this step alone.
    size : int
        How many shards there are.
    token : str
        The secret of the run; it is in no file, and it never travels between shards.
    towards : str
        An address of the machine that leads: shards listen where they reach it. On one machine that is the loopback.
    """

    folder: Path
    size: int
    token: str = field(repr=False)
    towards: str = LOOPBACK

    def host(self) -> str:
        """Return the address of this machine as others see it."""
        if self.towards == LOOPBACK:
            return LOOPBACK
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((self.towards, 9))
            return str(probe.getsockname()[0])

    def enter(self, rank: int, entry: "Entry") -> None:
        """Say where a shard listens; a shard that is started again replaces its entry."""
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self._entry(rank)
        fresh = place.with_suffix(f".{entry.life}")
        fresh.write_text(json.dumps([entry.host, entry.port, entry.life]))
        fresh.replace(place)

    def roster(self) -> "Roster | None":
        """Return where all shards listen, or None while some are missing."""
        found = []
        for rank in range(self.size):
            try:
                host, port, life = json.loads(self._entry(rank).read_bytes())
            except (OSError, ValueError):
                return None
            found.append(Entry(str(host), int(port), str(life)))
        return Roster(tuple(found))

    def n_there(self) -> int:
        """Return how many shards have entered."""
        return sum(self._entry(rank).exists() for rank in range(self.size))

    def _entry(self, rank: int) -> Path:
        return self.folder / f"{rank:05d}.json"

    def fail(self, session: str, error: BaseException) -> None:
        """Note why a session failed, for all others to read; the first failure counts."""
        kind = next((name for name, one in _KINDS.items() if isinstance(error, one)), "")
        with contextlib.suppress(OSError), self._failure(session).open("x") as file:
            file.write(json.dumps([kind, str(error) or type(error).__name__]))

    def failure(self, session: str) -> PargeError | None:
        """Return why a session failed, or None."""
        try:
            kind, words = json.loads(self._failure(session).read_bytes())
        except (OSError, ValueError):
            return None
        return _KINDS.get(kind, PargeError)(words)

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
class Entry:
    """Where a shard listens, and which of its lives this is."""

    host: str
    port: int
    life: str


@dataclass(frozen=True)
class Roster:
    """The entries of all shards at one moment."""

    entries: tuple[Entry, ...]

    @property
    def session(self) -> str:
        """A name that only those have in common who have seen the same entries."""
        return hashlib.sha256("".join(entry.life for entry in self.entries).encode()).hexdigest()[:16]


_KINDS: dict[str, type[PargeError]] = {"infeasible": InfeasibleError, "input": InputError, "damaged": DamagedError}


def folder_name(stage: str) -> str:
    """Return the name of a folder in which shards meet for one step, which no other step has had."""
    return f"{stage}-{os.getpid()}-{secrets.token_hex(4)}"
