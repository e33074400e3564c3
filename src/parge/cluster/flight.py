"""Shards in processes of their own, on one machine or several: messages travel by Arrow Flight, with the run's token.

Shards meet in a folder that all of them see: each writes where it listens. A shard that is started again writes a new
entry; the others notice, and the program begins anew on all of them, with what the last step left in files.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import flight

from parge.cluster.mesh import Mesh, Message
from parge.errors import InfeasibleError, InputError, PargeError

# Bytes of a message that travel at a time; shorter messages go in one piece.
_PIECE = 1 << 24

_POLL_SECONDS = 0.1
# A shard that does not answer for so long is asked whether it is alive; one that does not come back for so long is
# given up, and with it the step.
_PING_SECONDS, PATIENCE_SECONDS = 2.0, 90.0

# Time for the shard that failed to say so before those that only heard of it.
_YIELD_SECONDS = 0.5

LOOPBACK = "127.0.0.1"

# Of the threads that Flight starts, about 25: a limit on private memory counts their stacks, 8 MB each by default, of
# which they touch a few pages.
_STACK_BYTES = 1 << 20


class LostError(Exception):
    """A shard was started again: the step has to begin anew."""


class GoneError(PargeError):
    """A shard is gone and did not come back."""


def _small_stacks() -> None:
    """Have threads of libraries start with small stacks, where the C library (glibc) can be told."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        library, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(256)
        library.pthread_attr_init(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
        library.pthread_setattr_default_np(attributes)
        library.pthread_attr_destroy(attributes)


class Mailbox:
    """Messages that have arrived, and what was heard of failures."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.messages: dict[tuple[str, int, int], Message] = {}
        self.failure: dict[str, tuple[str, str]] = {}

    def put(self, key: tuple[str, int, int], message: Message) -> None:
        """Keep a message until it is taken."""
        with self.changed:
            self.messages[key] = message
            self.changed.notify_all()

    def fail(self, session: str, kind: str, words: str) -> None:
        """Note that another shard has failed."""
        with self.changed:
            self.failure[session] = (kind, words)
            self.changed.notify_all()


class _Token(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Refuses calls without the token of the run."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def start_call(self, _info: Any, headers: dict[str, list[str]]) -> None:
        """Raise unless the header is right."""
        given = headers.get("authorization", [""])[0]
        if not secrets.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            raise flight.FlightUnauthenticatedError("the token of the run is needed")


class _Server(flight.FlightServerBase):  # type: ignore[misc]
    """Puts what arrives into the mailbox."""

    def __init__(self, host: str, token: str, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        super().__init__(f"grpc://{host}:0", middleware={"token": _Token(token)})

    def do_put(self, _context: Any, descriptor: Any, reader: Any, _writer: Any) -> None:
        """Take the messages of one shard, one after the other, as long as it sends any."""
        session, source = json.loads(descriptor.command)
        about: dict[str, Any] = {}
        data, end = np.zeros(0, np.uint8), 0
        for chunk in reader:
            if chunk.app_metadata is not None:  # a new message
                about = json.loads(chunk.app_metadata.to_pybytes())
                data, end = np.empty(about["bytes"], np.uint8), 0
            piece = chunk.data.column(0).to_numpy()
            data[end : end + piece.size] = piece
            end += piece.size
            if end == data.size:
                data.flags.writeable = False
                self._mailbox.put((session, about["step"], source), _unpacked(data, about["arrays"]))

    def do_action(self, _context: Any, action: Any) -> list[bytes]:
        """Answer that this shard is alive, or note that another has failed."""
        if action.type == "fail":
            self._mailbox.fail(*json.loads(action.body.to_pybytes()))
        return []


def _unpacked(data: Any, arrays: Sequence[tuple[str, list[int]]]) -> Message:
    """Return the arrays whose bytes follow each other, each from a multiple of 8 bytes on."""
    found, start = [], 0
    for kind, shape in arrays:
        dtype = np.dtype(kind)
        if dtype.hasobject:
            raise flight.FlightServerError("no such message")
        size = int(np.prod(shape)) * dtype.itemsize
        found.append(data[start : start + size].view(dtype).reshape(shape))
        start += -(-size // 8) * 8
    return tuple(found)


_SCHEMA = pa.schema([("bytes", pa.uint8())])


def _pieces(message: Message) -> Iterator[Any]:
    """Yield the bytes of arrays, padded to multiples of 8; of short messages all in one."""
    arrays = [np.ascontiguousarray(array) for array in message]
    flat = [array.reshape(-1).view(np.uint8) for array in arrays]
    padded = [piece for one in flat for piece in (one, np.zeros(-one.size % 8, np.uint8)) if piece.size]
    if sum(piece.size for piece in padded) <= _PIECE:
        padded = [np.concatenate([np.zeros(0, np.uint8), *padded])]
    for whole in padded:
        for start in range(0, max(1, whole.size), _PIECE):
            yield pa.record_batch([pa.array(whole[start : start + _PIECE])], schema=_SCHEMA)


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
        The secret of the run; it is in no file.
    towards : str
        An address of the machine that leads: shards listen where they reach it. On one machine that is the loopback.
    """

    folder: Path
    size: int
    token: str
    towards: str = LOOPBACK

    def host(self) -> str:
        """Return the address of this machine as others see it."""
        if self.towards == LOOPBACK:
            return LOOPBACK
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((self.towards, 9))
            return str(probe.getsockname()[0])


class FlightMesh(Mesh):
    """A shard that talks to the others by Arrow Flight."""

    def __init__(self, rank: int, meeting: Meeting) -> None:
        self.rank, self.size, self.meeting = rank, meeting.size, meeting
        self._mailbox = Mailbox()
        _small_stacks()
        host = meeting.host()
        self._server = _Server(host, meeting.token, self._mailbox)
        self._options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {meeting.token}".encode())])
        self._life = secrets.token_hex(8)
        self._clients: dict[int, Any] = {}
        self._writers: dict[int, Any] = {}
        self._lives: list[str] = []
        self._session, self._step, self.n_bytes = "", 0, 0
        self._reason = "no answer"
        self._write_entry(host)

    def _write_entry(self, host: str) -> None:
        self.meeting.folder.mkdir(parents=True, exist_ok=True)
        entry = {"host": host, "port": self._server.port, "life": self._life}
        place = self.meeting.folder / f"{self.rank:05d}.json"
        fresh = place.with_suffix(f".{self._life}")
        fresh.write_text(json.dumps(entry))
        fresh.replace(place)

    def _entries(self) -> list[dict[str, Any]] | None:
        """Return where all shards listen, or None while some are missing."""
        found = []
        for rank in range(self.size):
            try:
                found.append(json.loads((self.meeting.folder / f"{rank:05d}.json").read_bytes()))
            except (OSError, ValueError):
                return None
        return found

    def join(self) -> None:
        """Meet the others: return when all have agreed to begin."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            entries = self._entries()
            if entries is not None and self._agreed(entries):
                return
            time.sleep(_POLL_SECONDS)
        there = len(list(self.meeting.folder.glob("*.json")))
        if there < self.size:
            remedy = f"All of them run at the same time: give the cluster {self.size} free cores, or plan fewer parts."
        else:
            remedy = f"They do not reach each other ({self._reason}). Open the ports between the machines."
        raise GoneError(f"{there} of {self.size} shards started within {PATIENCE_SECONDS:.0f} s. {remedy}")

    def _agreed(self, entries: list[dict[str, Any]]) -> bool:
        """Return whether all shards have seen the same entries."""
        self._lives = [str(entry["life"]) for entry in entries]
        self._session, self._step = hashlib.sha256("".join(self._lives).encode()).hexdigest()[:16], 0
        self._hang_up()
        self._clients = {
            rank: flight.FlightClient(f"grpc://{entry['host']}:{entry['port']}")
            for rank, entry in enumerate(entries)
            if rank != self.rank
        }
        with self._mailbox.changed:
            old = [key for key in self._mailbox.messages if key[0] != self._session]
            for key in old:
                del self._mailbox.messages[key]
        try:
            self.swap([()] * self.size)
        except (LostError, GoneError, flight.FlightError, pa.ArrowException) as error:
            self._reason = str(error) or "one was started again"
            return False
        return True

    def swap(self, out: Sequence[Message]) -> list[Message]:
        """Send all messages, and wait for those of the others."""
        step, self._step = self._step, self._step + 1
        for turn in range(1, self.size):
            rank = (self.rank + turn) % self.size  # not all to the same shard first
            try:
                self._send(rank, step, out[rank])
            except (flight.FlightError, pa.ArrowException):
                self._await_return(rank)
        found: list[Message] = [()] * self.size
        for rank in range(self.size):
            found[rank] = _alone(out[rank]) if rank == self.rank else self._received(rank, step)
        return found

    def _send(self, rank: int, step: int, message: Message) -> None:
        arrays = [(array.dtype.str, list(array.shape)) for array in message]
        n_bytes = sum(-(-array.nbytes // 8) * 8 for array in message)
        about: bytes | None = json.dumps({"step": step, "arrays": arrays, "bytes": n_bytes}).encode()
        if rank not in self._writers:
            descriptor = flight.FlightDescriptor.for_command(json.dumps([self._session, self.rank]).encode())
            self._writers[rank] = self._clients[rank].do_put(descriptor, _SCHEMA, self._options)[0]
        writer = self._writers[rank]
        for piece in _pieces(message):
            if about is None:
                writer.write_batch(piece)
            else:
                writer.write_with_metadata(piece, about)
            about = None
        self.n_bytes += n_bytes

    def _hang_up(self) -> None:
        for writer in self._writers.values():
            with contextlib.suppress(flight.FlightError, pa.ArrowException):
                writer.close()
        self._writers, self._clients = {}, {}

    def _received(self, rank: int, step: int) -> Message:
        """Wait for a message; raise where its sender has failed, or was started again."""
        key, box, asked = (self._session, step, rank), self._mailbox, time.monotonic()
        while True:
            with box.changed:
                if key in box.messages:
                    return box.messages.pop(key)
                box.changed.wait(_POLL_SECONDS)
                if key in box.messages:
                    return box.messages.pop(key)
            self._look_around()
            if time.monotonic() - asked > _PING_SECONDS:
                if not self._is_alive(rank):
                    self._await_return(rank)
                asked = time.monotonic()

    def _look_around(self) -> None:
        """Raise where a shard has failed, or was started again."""
        if self._session in self._mailbox.failure:
            time.sleep(_YIELD_SECONDS)
            raise _failure(*self._mailbox.failure[self._session])
        entries = self._entries()
        if entries is not None and [str(entry["life"]) for entry in entries] != self._lives:
            raise LostError

    def _is_alive(self, rank: int) -> bool:
        with contextlib.suppress(flight.FlightError, pa.ArrowException):
            timed = flight.FlightCallOptions(
                timeout=10.0, headers=[(b"authorization", f"Bearer {self.meeting.token}".encode())]
            )
            list(self._clients[rank].do_action(flight.Action("alive", b""), timed))
            return True
        return False

    def _await_return(self, rank: int) -> None:
        """Wait until a shard that is gone is started again, and raise `LostError`; or give up."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            self._look_around()
            time.sleep(_POLL_SECONDS)
        raise GoneError(f"shard {rank} is gone and did not come back within {PATIENCE_SECONDS:.0f} s")

    def fail(self, error: BaseException) -> None:
        """Tell all others that this shard has failed, so that none waits for it."""
        kind = next((name for name, one in _KINDS.items() if isinstance(error, one)), "")
        body = json.dumps([self._session, kind, str(error) or type(error).__name__]).encode()
        timed = flight.FlightCallOptions(
            timeout=5.0, headers=[(b"authorization", f"Bearer {self.meeting.token}".encode())]
        )
        for client in self._clients.values():
            with contextlib.suppress(flight.FlightError, pa.ArrowException):
                list(client.do_action(flight.Action("fail", body), timed))

    def close(self) -> None:
        """Listen no more."""
        self._hang_up()
        self._server.shutdown()


_KINDS: dict[str, type[PargeError]] = {"infeasible": InfeasibleError, "input": InputError}


def _failure(kind: str, words: str) -> PargeError:
    return _KINDS.get(kind, PargeError)(words)


def _alone(message: Message) -> Message:
    found = tuple(np.array(array) for array in message)
    for array in found:
        array.flags.writeable = False
    return found


Program = Callable[[Mesh], dict[str, Any]]
"""What every shard runs; what it returns is plain and small."""


@contextmanager
def _open(rank: int, meeting: Meeting) -> Iterator[FlightMesh]:
    mesh = FlightMesh(rank, meeting)
    try:
        yield mesh
    finally:
        mesh.close()


def take_part(rank: int, meeting: Meeting, program: Program) -> dict[str, Any]:
    """Run a program as one of several shards; begin anew when another shard was started again.

    What all shards have finished is not done again: a shard that is started again after that finds its answer.
    """
    finished, answer = meeting.folder / "finished", meeting.folder / f"{rank:05d}.answer"
    if finished.exists():
        return dict(json.loads(answer.read_bytes()))
    with _open(rank, meeting) as mesh:
        while True:
            try:
                mesh.join()
                found = program(mesh)
                answer.write_text(json.dumps(found))
                mesh.share()
                if rank == 0:
                    finished.touch()
                while not finished.exists():
                    mesh._look_around()
                    time.sleep(0.01)
                return found
            except LostError:
                continue
            except BaseException as error:
                mesh.fail(error)
                raise


def folder_name(stage: str) -> str:
    """Return the name of a folder in which shards meet for one step, which no other step has had."""
    return f"{stage}-{os.getpid()}-{secrets.token_hex(4)}"
