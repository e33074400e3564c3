"""Shards in processes of their own, on one machine or several: messages travel over sockets, with the run's token.

There is one connection between two shards, and one thread in each that sends and receives on all of its connections
at once, so that no shard waits for one that waits. A connection says by its end that its shard is gone. A shard that
is started again registers again; the others notice, and the program starts again on all of them, with what the last
step left in files.
"""

import contextlib
import json
import secrets
import select
import socket
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from parge.cluster.listener import PROOF_SECONDS, ShardListener, connect
from parge.cluster.mesh import Mesh, Message
from parge.cluster.rendezvous import Endpoint, Rendezvous, Roster
from parge.cluster.wire_format import decoding, encoded
from parge.errors import PargeError

_POLL_SECONDS = 0.1
# While messages are awaited, the folder of the rendezvous is looked at so often. A shard that does not come back for so
# long is given up, and with it the step.
_LOOK_SECONDS, PATIENCE_SECONDS = 2.0, 90.0

# While others compute, or are started again, a shard waits longer; not for ever.
MOST_SECONDS = 6 * 3600.0

# Time for the shard that failed to say so before those that only heard of it.
_YIELD_SECONDS = 0.5

# Pieces that are given to the system at a time.
_PIECES = 64


class LostError(Exception):
    """A shard was started again, so all shards repeat the step."""


class GoneError(PargeError):
    """A shard stopped and was not restarted."""


class _Line:
    """The connection to another shard during one exchange: what is left to send, and what has arrived."""

    def __init__(self, line: socket.socket, step: int, message: Message) -> None:
        self.line = line
        self._out = encoded(step, message)
        self._coming: Generator[memoryview, None, Message] = decoding(step)
        self._place = next(self._coming)
        self.message: Message | None = None

    @property
    def is_sending(self) -> bool:
        """Whether something is left to send."""
        return bool(self._out)

    @property
    def waits_for(self) -> int:
        """What the system has to look for; 0 when nothing is left to do."""
        return (select.POLLOUT if self._out else 0) | (select.POLLIN if self.message is None else 0)

    def write(self) -> None:
        """Send as much as the connection takes."""
        with contextlib.suppress(BlockingIOError, InterruptedError):
            n_sent = self.line.sendmsg(self._out[:_PIECES])
            while self._out and n_sent >= len(self._out[0]):
                n_sent -= len(self._out.pop(0))
            if n_sent:
                self._out[0] = self._out[0][n_sent:]

    def read(self) -> None:
        """Take what has arrived of this message, and nothing of the next."""
        with contextlib.suppress(BlockingIOError, InterruptedError):
            while True:
                n_read = self.line.recv_into(self._place)
                if not n_read:
                    raise ConnectionResetError("the other shard has closed the connection")
                self._place = self._place[n_read:]
                if not self._place:
                    try:
                        self._place = next(self._coming)
                    except StopIteration as end:
                        self.message = end.value
                        return


class SocketMesh(Mesh):
    """A shard that talks to the others over sockets."""

    def __init__(self, rank: int, rendezvous: Rendezvous) -> None:
        self.rank, self.size, self.rendezvous = rank, rendezvous.size, rendezvous
        self._listener = ShardListener(rank, rendezvous)
        self._lines: dict[int, socket.socket] = {}
        self._roster, self._step = Roster(()), 0
        rendezvous.register(rank, Endpoint(self._listener.host, self._listener.port, secrets.token_hex(8)))

    def join(self) -> None:
        """Meet the others: return when all have agreed to begin."""
        started, reason, there = time.monotonic(), "no answer", 0
        until, most = started + PATIENCE_SECONDS, started + MOST_SECONDS
        while time.monotonic() < until:
            roster = self.rendezvous.roster()
            if roster is None and (now := self.rendezvous.n_registered()) > there:  # many start slowly on few cores
                there, until = now, min(most, time.monotonic() + PATIENCE_SECONDS)
            try:
                if roster is not None:
                    self._connect(roster)
                    self.swap([()] * self.size)
                    return
            except LostError:
                until = min(most, time.monotonic() + PATIENCE_SECONDS)
            except TimeoutError:  # of a shard that computes, perhaps for long
                if roster is not None and (reason := _unreachable(roster)) == "":
                    until, reason = min(most, time.monotonic() + PATIENCE_SECONDS), "no answer"
            except OSError as error:
                reason = str(error)
            time.sleep(_POLL_SECONDS)
        there = self.rendezvous.n_registered()
        if there < self.size:
            remedy = "All of them run at the same time: give the cluster more free cores, or plan fewer parts."
        else:
            remedy = f"They do not reach each other ({reason}). Open the ports between the machines."
        raise GoneError(f"{there} of {self.size} shards started within {time.monotonic() - started:.0f} s. {remedy}")

    def _connect(self, roster: Roster) -> None:
        """Have a connection to every other shard: this one calls those before it, and those after it call."""
        self._hang_up()
        self._roster, self._step = roster, 0
        for rank in range(self.rank):
            self._lines[rank] = connect(roster.endpoints[rank], self.rank, rank, roster.session, self.rendezvous.token)
        waiting, until = set(range(self.rank + 1, self.size)), time.monotonic() + PROOF_SECONDS
        while waiting:
            found = self._listener.accepted(roster.session, waiting, _POLL_SECONDS)
            self._lines.update(found)
            waiting -= found.keys()
            if waiting:
                self._check_others()
            if waiting and time.monotonic() > until:
                raise TimeoutError(f"shard {min(waiting)} does not connect")

    def swap(self, out: Sequence[Message]) -> list[Message]:
        """Send all messages, and wait for those of the others."""
        step, self._step = self._step, self._step + 1
        lines = {rank: _Line(line, step, out[rank]) for rank, line in self._lines.items()}
        self.sent_bytes += sum(array.nbytes for rank in lines for array in out[rank])
        for rank, line in lines.items():
            self._move(rank, line)
        while any(line.is_sending for line in lines.values()):
            self._wait([line for line in lines.values() if line.waits_for])
            for rank, line in lines.items():
                self._move(rank, line)
        # Nobody waits for this shard to send. To wait for one after the other wakes it up less often than for all.
        for rank, line in lines.items():
            while line.message is None:
                self._wait([line])
                self._move(rank, line)
        found = {rank: line.message for rank, line in lines.items()}
        return [_alone(out[rank]) if rank == self.rank else found[rank] or () for rank in range(self.size)]

    def _wait(self, lines: Sequence[_Line]) -> None:
        """Wait until one of the connections can go on; now and then read the rendezvous."""
        ready = select.poll()
        for line in lines:
            ready.register(line.line, line.waits_for)
        while not ready.poll(1e3 * _LOOK_SECONDS):
            self._check_others()

    def _move(self, rank: int, line: _Line) -> None:
        """Send and receive what a connection is ready for; wait for a shard that turns out to be gone."""
        try:
            if line.is_sending:
                line.write()
            if line.message is None:
                line.read()
        except OSError:
            self._await_return(rank)

    def _check_others(self) -> None:
        """Raise where a shard has failed, or was started again."""
        failure = self.rendezvous.failure(self._roster.session)
        if failure is not None:
            time.sleep(_YIELD_SECONDS)
            raise failure
        roster = self.rendezvous.roster()
        if roster is not None and roster != self._roster:
            raise LostError

    def _await_return(self, rank: int) -> None:
        """Wait until a shard that is gone is started again, and raise `LostError`; or give up."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            self._check_others()
            time.sleep(_POLL_SECONDS)
        raise GoneError(
            f"shard {rank} stopped and was not restarted within {PATIENCE_SECONDS:.0f} s. Resume the run (--resume)."
        )

    def await_finished(self) -> None:
        """Return when shard 0 has noted that all are done; raise where it is started again before that."""
        if self.rank == 0:
            self.rendezvous.finished.touch()
        while not self.rendezvous.finished.exists():
            self._check_others()
            time.sleep(_POLL_SECONDS / 10)

    def fail(self, error: BaseException) -> None:
        """Tell all others that this shard has failed, so that none waits for it."""
        self.rendezvous.fail(self._roster.session, error)
        self._hang_up()

    def _hang_up(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines = {}

    def close(self) -> None:
        """Listen no more."""
        self._hang_up()
        self._listener.close()


def _unreachable(roster: Roster) -> str:
    """Return why one of the shards is not reached, or nothing where all of them are there."""
    for endpoint in roster.endpoints:
        try:
            socket.create_connection((endpoint.host, endpoint.port), PROOF_SECONDS).close()
        except OSError as error:
            return str(error)
    return ""


def _alone(message: Message) -> Message:
    found = tuple(np.array(array) for array in message)
    for array in found:
        array.flags.writeable = False
    return found


Program = Callable[[Mesh], dict[str, Any]]
"""What every shard runs; what it returns is plain and small."""


@contextmanager
def _open(rank: int, rendezvous: Rendezvous) -> Iterator[SocketMesh]:
    mesh = SocketMesh(rank, rendezvous)
    try:
        yield mesh
    finally:
        mesh.close()


def take_part(rank: int, rendezvous: Rendezvous, program: Program) -> dict[str, Any]:
    """Run a program as one of several shards; repeat it when another shard was started again.

    What all shards have finished is not done again: a shard that is started again after that finds its answer.
    """
    answer = rendezvous.answer(rank)
    if rendezvous.finished.exists():
        return dict(json.loads(answer.read_bytes()))
    with _open(rank, rendezvous) as mesh:
        while True:
            try:
                mesh.join()
                found = program(mesh)
                answer.write_text(json.dumps(found))
                mesh.share()
                mesh.await_finished()
                return found
            except LostError:
                continue
            except BaseException as error:
                mesh.fail(error)
                raise
