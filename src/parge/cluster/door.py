"""The door of a shard: it listens on one address of its machine, and lets in who proves to know the run's token.

The token itself never travels. The two sides send each other random bytes, and each answers with a keyed hash (HMAC)
of both, of who it is, and of the session: so nobody enters by what was heard on an earlier occasion, and the one who
calls knows that it has reached a shard of its own run, too.
"""

import contextlib
import hmac
import secrets
import socket
import struct
import threading
import time
from collections.abc import Collection

from parge.cluster.meeting import Entry, Meeting

# Time for the whole proof, however its bytes come, and the most callers that are heard at a time: the oldest goes where
# another calls. A door that was closed is noticed so soon.
PROOF_SECONDS, _MOST_CALLERS = 10.0, 64
_ATTENTION_SECONDS = 1.0

_NONCE, _PROOF, _SESSION = 32, 32, 16
_WHO = struct.Struct("<II")  # who calls, and whom

# A limit on private memory counts the stacks of threads, 8 MB each by default.
_STACK_BYTES = 1 << 18

# Where a machine is lost, its connections do not end: the system asks after so many seconds of silence, so often.
_SILENCE, _BETWEEN, _TIMES = 20, 10, 3


def _proof(token: str, side: bytes, *said: bytes) -> bytes:
    """Return what only those can compute who know the token; every piece has a known length."""
    return hmac.digest(token.encode(), side + b"".join(said), "sha256")


def _exactly(line: socket.socket, n_bytes: int, until: float) -> bytes:
    """Return so many bytes; raise TimeoutError if they are not all there at a time of `time.monotonic`."""
    found = bytearray()
    while len(found) < n_bytes:
        _give_until(line, until)
        piece = line.recv(n_bytes - len(found))
        if not piece:
            raise ConnectionResetError("the connection ended before the proof")
        found += piece
    return bytes(found)


def _give_until(line: socket.socket, until: float) -> None:
    """Let the next call on a connection take the time that is left."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("the proof takes too long")
    line.settimeout(left)


def knock(entry: Entry, rank: int, other: int, session: str, token: str) -> socket.socket:
    """Return a connection to another shard, each side having proved that it knows the token."""
    until = time.monotonic() + PROOF_SECONDS
    line = socket.create_connection((entry.host, entry.port), PROOF_SECONDS)
    try:
        theirs = _exactly(line, _NONCE, until)
        who, mine, name = _WHO.pack(rank, other), secrets.token_bytes(_NONCE), session.encode()
        line.sendall(who + name + mine + _proof(token, b"caller", who, name, theirs, mine))
        if not hmac.compare_digest(_exactly(line, _PROOF, until), _proof(token, b"called", who, name, theirs, mine)):
            raise ConnectionRefusedError(f"{entry.host}:{entry.port} does not know the token of the run")
        return _settled(line)
    except BaseException:
        line.close()
        raise


def _settled(line: socket.socket) -> socket.socket:
    """Have short messages go at once, and the end of a machine be noticed."""
    line.setblocking(False)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Linux has the first name, macOS the second.
    for names, value in ((("TCP_KEEPIDLE", "TCP_KEEPALIVE"), _SILENCE), (("TCP_KEEPINTVL",), _BETWEEN)):
        for name in names:
            if hasattr(socket, name):
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
                break
    for name, value in (("TCP_KEEPCNT", _TIMES), ("TCP_USER_TIMEOUT", 1000 * (_SILENCE + _BETWEEN * _TIMES))):
        if hasattr(socket, name):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return line


def _end(line: socket.socket) -> None:
    """End a connection that another thread reads from: that thread notices, and closes it."""
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


class Door:
    """Listens for other shards, in threads of its own, so that a shard that computes is reached, too."""

    def __init__(self, rank: int, meeting: Meeting) -> None:
        self.rank, self._token, self._size = rank, meeting.token, meeting.size
        self._listener = socket.create_server((meeting.host(), 0), backlog=max(64, meeting.size))
        self._listener.settimeout(_ATTENTION_SECONDS)
        self.host, self.port = self._listener.getsockname()[:2]
        self._changed = threading.Condition()
        self._inside: dict[tuple[str, int], socket.socket] = {}
        self._unproved: dict[socket.socket, None] = {}  # the oldest first
        self._is_open = True
        self._thread(self._listen)

    def _thread(self, target: object, *args: object) -> None:
        before = threading.stack_size(_STACK_BYTES)
        try:
            threading.Thread(target=target, args=args, daemon=True).start()  # type: ignore[arg-type]
        finally:
            threading.stack_size(before)

    def _listen(self) -> None:
        while self._is_open:
            try:
                line, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # a caller that has hung up already, or no more files
                time.sleep(0.01)
                continue
            self._make_room(line)
            try:
                self._thread(self._hear, line)
            except RuntimeError:  # no more threads
                self._forget(line)
                line.close()

    def _make_room(self, line: socket.socket) -> None:
        """Note a caller; where there are too many, end the oldest. So nobody keeps others out by being slow."""
        with self._changed:
            while len(self._unproved) >= _MOST_CALLERS:
                oldest = next(iter(self._unproved))
                del self._unproved[oldest]
                _end(oldest)
            self._unproved[line] = None

    def _forget(self, line: socket.socket) -> None:
        with self._changed:
            self._unproved.pop(line, None)

    def _hear(self, line: socket.socket) -> None:
        """Let a caller in, or close the connection."""
        try:
            until = time.monotonic() + PROOF_SECONDS
            _give_until(line, until)
            mine = secrets.token_bytes(_NONCE)
            line.sendall(mine)
            said = _exactly(line, _WHO.size + _SESSION + _NONCE + _PROOF, until)
            rank, whom = _WHO.unpack(said[: _WHO.size])
            who, name = said[: _WHO.size], said[_WHO.size : _WHO.size + _SESSION]
            theirs, proof = said[-_NONCE - _PROOF : -_PROOF], said[-_PROOF:]
            known = hmac.compare_digest(proof, _proof(self._token, b"caller", who, name, mine, theirs))
            if not known or whom != self.rank or not self.rank < rank < self._size:
                line.close()
                return
            self._forget(line)
            line.sendall(_proof(self._token, b"called", who, name, mine, theirs))
            self._let_in(name.decode(), rank, _settled(line))
        except (OSError, ValueError):
            line.close()
        finally:
            self._forget(line)

    def _let_in(self, session: str, rank: int, line: socket.socket) -> None:
        with self._changed:
            before = self._inside.pop((session, rank), None)
            if before is not None:
                before.close()
            self._inside[session, rank] = line
            self._changed.notify_all()

    def entered(self, session: str, ranks: Collection[int], seconds: float) -> dict[int, socket.socket]:
        """Wait for some of these shards to be inside; return those that are. Who came for another session stays."""
        with self._changed:
            if not any((session, rank) in self._inside for rank in ranks):
                self._changed.wait(seconds)
            return {rank: self._inside.pop((session, rank)) for rank in ranks if (session, rank) in self._inside}

    def close(self) -> None:
        """Listen no more, and close what nobody took."""
        self._is_open = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._changed:
            for line in self._inside.values():
                line.close()
            self._inside = {}
            for line in self._unproved:
                _end(line)
