"""Connections between shards, authenticated on both sides: `ShardListener` accepts them, `connect` opens one.

`parge.cluster.sockets` calls both when shards start. The token of the run never travels. The two sides send each other
random bytes, and each answers with a keyed hash (HMAC) of both, of its rank, and of the session. So a recorded proof is
of no use later, and the side that connects also knows that it has reached a shard of its own run.
"""

import contextlib
import hmac
import secrets
import socket
import struct
import threading
import time
from collections.abc import Collection

from parge.cluster.rendezvous import Endpoint, Rendezvous

# Time for the whole proof, however its bytes come, and the most connections that are being proved at a time: of more,
# the oldest is closed. A listener that was closed is noticed after at most the third number.
PROOF_SECONDS, _MOST_CALLERS = 10.0, 64
_ACCEPT_SECONDS = 1.0

_NONCE, _PROOF, _SESSION = 32, 32, 16
_RANKS = struct.Struct("<II")  # the shard that connects, and the one that listens

# A limit on private memory counts the stacks of threads, 8 MB each by default.
_STACK_BYTES = 1 << 18

# Where a machine is lost, its connections do not end: the system probes them (TCP keepalive) after this many seconds of
# silence, at such intervals, so often.
_IDLE_SECONDS, _INTERVAL_SECONDS, _PROBES = 20, 10, 3


def _proof(token: str, side: bytes, *said: bytes) -> bytes:
    """Return a keyed hash that needs the token; every piece has a fixed length."""
    return hmac.digest(token.encode(), side + b"".join(said), "sha256")


def _receive(line: socket.socket, n_bytes: int, until: float) -> bytes:
    """Return that many bytes; raise TimeoutError if some are missing at the time `until` of `time.monotonic`."""
    found = bytearray()
    while len(found) < n_bytes:
        _limit_time(line, until)
        piece = line.recv(n_bytes - len(found))
        if not piece:
            raise ConnectionResetError("the connection ended before the proof")
        found += piece
    return bytes(found)


def _limit_time(line: socket.socket, until: float) -> None:
    """Give the next call on a connection the time that is left."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("the proof takes too long")
    line.settimeout(left)


def connect(endpoint: Endpoint, rank: int, other: int, session: str, token: str) -> socket.socket:
    """Return a connection to another shard, each side having proved that it knows the token."""
    until = time.monotonic() + PROOF_SECONDS
    line = socket.create_connection((endpoint.host, endpoint.port), PROOF_SECONDS)
    try:
        theirs = _receive(line, _NONCE, until)
        ranks, mine, name = _RANKS.pack(rank, other), secrets.token_bytes(_NONCE), session.encode()
        line.sendall(ranks + name + mine + _proof(token, b"caller", ranks, name, theirs, mine))
        if not hmac.compare_digest(_receive(line, _PROOF, until), _proof(token, b"called", ranks, name, theirs, mine)):
            raise ConnectionRefusedError(f"{endpoint.host}:{endpoint.port} does not know the token of the run")
        return _configured(line)
    except BaseException:
        line.close()
        raise


def _configured(line: socket.socket) -> socket.socket:
    """Send short messages at once, and have the system notice a machine that is lost."""
    line.setblocking(False)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Linux has the first name, macOS the second.
    for names, value in ((("TCP_KEEPIDLE", "TCP_KEEPALIVE"), _IDLE_SECONDS), (("TCP_KEEPINTVL",), _INTERVAL_SECONDS)):
        for name in names:
            if hasattr(socket, name):
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
                break
    for name, value in (
        ("TCP_KEEPCNT", _PROBES),
        ("TCP_USER_TIMEOUT", 1000 * (_IDLE_SECONDS + _INTERVAL_SECONDS * _PROBES)),
    ):
        if hasattr(socket, name):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return line


def _end(line: socket.socket) -> None:
    """Shut down a connection that another thread reads from: that thread notices, and closes it."""
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


class ShardListener:
    """Accepts connections of other shards, in threads of its own, so that a shard that computes can be reached, too."""

    def __init__(self, rank: int, rendezvous: Rendezvous) -> None:
        self.rank, self._token, self._size = rank, rendezvous.token, rendezvous.size
        self._listener = socket.create_server((rendezvous.host(), 0), backlog=max(64, rendezvous.size))
        self._listener.settimeout(_ACCEPT_SECONDS)
        self.host, self.port = self._listener.getsockname()[:2]
        self._changed = threading.Condition()
        self._accepted: dict[tuple[str, int], socket.socket] = {}
        self._pending: dict[socket.socket, None] = {}  # the oldest first
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
            except OSError:  # a connection that was closed already, or no more files
                time.sleep(0.01)
                continue
            self._add_pending(line)
            try:
                self._thread(self._authenticate, line)
            except RuntimeError:  # no more threads
                self._drop_pending(line)
                line.close()

    def _add_pending(self, line: socket.socket) -> None:
        """Add a connection to those being proved; of too many, end the oldest, so that none blocks others."""
        with self._changed:
            while len(self._pending) >= _MOST_CALLERS:
                oldest = next(iter(self._pending))
                del self._pending[oldest]
                _end(oldest)
            self._pending[line] = None

    def _drop_pending(self, line: socket.socket) -> None:
        with self._changed:
            self._pending.pop(line, None)

    def _authenticate(self, line: socket.socket) -> None:
        """Check the proof of a connection, and answer with ours; close it where the proof is wrong."""
        try:
            until = time.monotonic() + PROOF_SECONDS
            _limit_time(line, until)
            mine = secrets.token_bytes(_NONCE)
            line.sendall(mine)
            said = _receive(line, _RANKS.size + _SESSION + _NONCE + _PROOF, until)
            rank, other = _RANKS.unpack(said[: _RANKS.size])
            ranks, name = said[: _RANKS.size], said[_RANKS.size : _RANKS.size + _SESSION]
            theirs, proof = said[-_NONCE - _PROOF : -_PROOF], said[-_PROOF:]
            known = hmac.compare_digest(proof, _proof(self._token, b"caller", ranks, name, mine, theirs))
            if not known or other != self.rank or not self.rank < rank < self._size:
                line.close()
                return
            self._drop_pending(line)
            line.sendall(_proof(self._token, b"called", ranks, name, mine, theirs))
            self._admit(name.decode(), rank, _configured(line))
        except (OSError, ValueError):
            line.close()
        finally:
            self._drop_pending(line)

    def _admit(self, session: str, rank: int, line: socket.socket) -> None:
        with self._changed:
            before = self._accepted.pop((session, rank), None)
            if before is not None:
                before.close()
            self._accepted[session, rank] = line
            self._changed.notify_all()

    def accepted(self, session: str, ranks: Collection[int], seconds: float) -> dict[int, socket.socket]:
        """Wait for connections of some of these shards; return those found. Those of other sessions are kept."""
        with self._changed:
            if not any((session, rank) in self._accepted for rank in ranks):
                self._changed.wait(seconds)
            return {rank: self._accepted.pop((session, rank)) for rank in ranks if (session, rank) in self._accepted}

    def close(self) -> None:
        """Stop listening, and close connections that nobody has asked for."""
        self._is_open = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._changed:
            for line in self._accepted.values():
                line.close()
            self._accepted = {}
            for line in self._pending:
                _end(line)
