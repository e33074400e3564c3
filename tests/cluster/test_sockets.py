"""Shards over sockets: what travels arrives, nobody enters without the token, and nothing strange is kept."""

import contextlib
import json
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.examples import examples

from parge.cluster import listener as listeners
from parge.cluster import sockets
from parge.cluster.listener import ShardListener, connect
from parge.cluster.mesh import Mesh, Message
from parge.cluster.rendezvous import Endpoint, Rendezvous
from parge.cluster.sockets import GoneError, LostError, SocketMesh, take_part
from parge.cluster.wire_format import MessageError, decoding, encoded
from parge.errors import InfeasibleError, InputError, PargeError
from parge.run.arrays import DamagedError

KINDS = ("?", "<i1", "<i2", "<i4", "<i8", "<u8", "<f2", "<f4", "<f8")
ARRAYS = st.sampled_from(KINDS).flatmap(
    lambda kind: hnp.arrays(np.dtype(kind), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


def read(data: bytes, step: int = 0) -> tuple[Message, int]:
    """Return the message of some bytes, and how many bytes it took."""
    coming, start = decoding(step), 0
    place = next(coming)
    while True:
        size = len(place)
        assert start + size <= len(data)
        place[:] = data[start : start + size]
        start += size
        try:
            place = next(coming)
        except StopIteration as end:
            return end.value, start


@given(message=st.lists(ARRAYS, max_size=4), step=st.integers(0, 10**6))
@examples(60)
def test_arrays_of_numbers_survive_a_frame(message: list[Any], step: int) -> None:
    data = b"".join(bytes(piece) for piece in encoded(step, tuple(message)))
    found, n_read = read(data + b"next", step)
    assert n_read == len(data)
    assert len(found) == len(message)
    for one, other in zip(found, message, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other, equal_nan=other.dtype.kind == "f")
        assert not one.flags.writeable


def frame(about: Any, n_bytes: int = 0, mark: bytes = b"prg1") -> bytes:
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    return struct.pack("<4sIQ", mark, len(text), n_bytes) + text + bytes(min(n_bytes, 64))


@pytest.mark.parametrize(
    "data",
    [
        frame([0, []], mark=b"GET "),
        frame(b" " * (1 << 17)),
        frame([0, [["<i8", [1]]]], 1 << 50),
        frame([0, [["<i8", [2]]]], 8),
        frame([0, [["<i8", [-1]]]], 8),
        frame([0, [["<i8", [1 << 62, 1 << 62]]]], 8),
        frame([0, [["|O", [1]]]], 8),
        frame([0, [["<U2", [1]]]], 8),
        frame([0, [["i8,O", [1]]]], 16),
        frame([0, [["nonsense", [1]]]], 8),
        frame([1, []]),
        frame({"step": 0}),
        frame(b"\xff\xfe"),
        frame(b"[" * 60_000),
    ],
    ids=range(14),
)
def test_strange_frames_are_refused_before_any_of_them_is_kept(data: bytes) -> None:
    with pytest.raises(MessageError):
        read(data)


def run_all(folder: Path, size: int, program: Any, token: str = "token") -> list[Any]:
    rendezvous = Rendezvous(folder, size, token)
    with ThreadPoolExecutor(size) as pool:
        started = [pool.submit(take_part, rank, rendezvous, program) for rank in range(size)]
        return [one.result(60) for one in started]


def test_everybody_tells_everybody(tmp_path: Path) -> None:
    def program(mesh: Mesh) -> dict[str, Any]:
        big = np.arange(300_000) + mesh.rank  # more than a connection holds
        for turn in range(3):
            found = mesh.swap([(big + t, np.array([turn])) for t in range(mesh.size)])
            for source, (told, when) in enumerate(found):
                assert (told[0], told[-1], when[0]) == (source + mesh.rank, 299_999 + source + mesh.rank, turn)
        return {"total": mesh.count(mesh.rank)}

    assert run_all(tmp_path, 5, program) == [{"total": 10}] * 5
    assert run_all(tmp_path, 5, program) == [{"total": 10}] * 5  # finished: from the answers alone


def test_one_shard_is_a_mesh_too(tmp_path: Path) -> None:
    assert run_all(tmp_path, 1, lambda mesh: {"total": mesh.count(7)}) == [{"total": 7}]


def test_a_failure_ends_all_shards_with_its_words(tmp_path: Path) -> None:
    def program(mesh: Mesh) -> dict[str, Any]:
        mesh.share()
        if mesh.rank == 1:
            raise InfeasibleError("3 do not fit in 2")
        mesh.share(np.zeros(10**6))
        return {}

    rendezvous = Rendezvous(tmp_path, 3, "token")
    with ThreadPoolExecutor(3) as pool:
        started = [pool.submit(take_part, rank, rendezvous, program) for rank in range(3)]
        for one in started:
            with pytest.raises(InfeasibleError, match=r"3 .* 2"):
                one.result(60)


def test_a_failure_keeps_its_kind(tmp_path: Path) -> None:
    rendezvous = Rendezvous(tmp_path, 2, "token")
    for kind in (InfeasibleError, InputError, DamagedError, PargeError):
        rendezvous.fail(kind.__name__, kind("why"))
        assert type(rendezvous.failure(kind.__name__)) is kind


def test_a_shard_that_is_started_again_is_met_again(tmp_path: Path) -> None:
    """A shard that ends in the middle of an exchange, as a killed process does, costs the others this program."""
    rendezvous, begun = Rendezvous(tmp_path, 3, "token"), []

    def program(mesh: Mesh) -> dict[str, Any]:
        begun.append(mesh.rank)
        return {"total": mesh.count(1) + int(mesh.share(np.arange(10**5))[2][0][-1])}

    def dies() -> None:
        mesh = SocketMesh(1, rendezvous)
        mesh.join()
        mesh.close()

    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(take_part, rank, rendezvous, program) for rank in (0, 2)]
        dies()
        assert take_part(1, rendezvous, program) == {"total": 10**5 + 2}
        assert [one.result(60) for one in others] == [{"total": 10**5 + 2}] * 2
    assert sorted(begun) in ([0, 0, 1, 2, 2], [0, 1, 2, 2], [0, 0, 1, 2], [0, 1, 2])


def test_a_shard_that_does_not_come_back_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "PATIENCE_SECONDS", 0.5)
    with pytest.raises(PargeError, match="1 of 2"):
        take_part(0, Rendezvous(tmp_path, 2, "token"), lambda _mesh: {})
    rendezvous = Rendezvous(tmp_path / "gone", 2, "token")
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(take_part, 0, rendezvous, lambda mesh: {"all": mesh.count(1)})
        mesh = SocketMesh(1, rendezvous)
        mesh.join()
        mesh.close()
        with pytest.raises(PargeError, match="shard 1"):
            other.result(60)


def endpoint_of(listener: ShardListener) -> Endpoint:
    return Endpoint(listener.host, listener.port, "start_id")


SESSION = "0123456789abcdef"


def ranks_accepted(listener: ShardListener) -> set[int]:
    """Return who is let in; their connections are closed."""
    found = listener.accepted(SESSION, [1, 2], 5)
    for line in found.values():
        line.close()
    return set(found)


def test_nobody_enters_without_the_token(tmp_path: Path) -> None:
    listener = ShardListener(0, Rendezvous(tmp_path, 3, "right"))
    try:
        assert listener.host == "127.0.0.1"
        with pytest.raises(OSError, match=r".*"):
            connect(endpoint_of(listener), 1, 0, SESSION, "wrong")
        for rank, other in ((1, 2), (0, 0), (3, 0)):  # for another shard, from itself, from nobody
            with pytest.raises(OSError, match=r".*"):
                connect(endpoint_of(listener), rank, other, SESSION, "right")
        for said in (b"", b"GET / HTTP/1.1\r\n\r\n" * 9, bytes(200)):
            with socket.create_connection((listener.host, listener.port), 5) as line:
                with contextlib.suppress(OSError):  # the listener may have closed the connection already
                    line.sendall(said)
                    line.shutdown(socket.SHUT_WR)
                assert len(_all_of(line)) <= 32  # the challenge, and no answer
        assert listener.accepted(SESSION, [1, 2], 0.05) == {}
        connect(endpoint_of(listener), 2, 0, SESSION, "right").close()
        assert ranks_accepted(listener) == {2}
    finally:
        listener.close()


def _all_of(line: socket.socket) -> bytes:
    found = b""
    try:
        while piece := line.recv(4096):
            found += piece
    except ConnectionResetError:
        pass
    return found


def test_what_was_heard_once_opens_no_door(tmp_path: Path) -> None:
    """An eavesdropper repeats a caller's words: the challenge is another one, so they prove nothing."""
    listener, heard = ShardListener(0, Rendezvous(tmp_path, 2, "token")), bytearray()
    between = socket.create_server(("127.0.0.1", 0))

    def overhear() -> None:
        line, _ = between.accept()
        with line, socket.create_connection((listener.host, listener.port), 5) as onward:
            line.sendall(onward.recv(32))
            said = line.recv(4096)
            heard.extend(said)
            onward.sendall(said)
            line.sendall(onward.recv(32))

    try:
        thread = threading.Thread(target=overhear)
        thread.start()
        connect(Endpoint("127.0.0.1", between.getsockname()[1], "start_id"), 1, 0, SESSION, "token").close()
        thread.join(10)
        assert ranks_accepted(listener) == {1}
        assert b"token" not in heard
        with socket.create_connection((listener.host, listener.port), 5) as line:
            line.recv(32)
            line.sendall(bytes(heard))
            assert _all_of(line) == b""
    finally:
        between.close()
        listener.close()


def test_a_stranger_behind_the_address_of_a_shard_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def answer() -> None:
            line, _ = stranger.accept()
            with line:
                line.sendall(bytes(64))
                line.recv(4096)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ConnectionRefusedError, match="token"):
            connect(Endpoint("127.0.0.1", stranger.getsockname()[1], "start_id"), 1, 0, SESSION, "token")
        thread.join(10)


def test_many_silent_callers_keep_nobody_out(tmp_path: Path) -> None:
    listener = ShardListener(0, Rendezvous(tmp_path, 2, "token"))
    silent = [socket.create_connection((listener.host, listener.port), 5) for _ in range(20)]
    try:
        begun = time.monotonic()
        connect(endpoint_of(listener), 1, 0, SESSION, "token").close()
        assert time.monotonic() - begun < 8
        assert ranks_accepted(listener) == {1}
    finally:
        for line in silent:
            line.close()
        listener.close()


def drip(lines: list[socket.socket], stop: threading.Event) -> None:
    """Send a byte on every connection now and then, as long as it takes any."""
    while not stop.wait(0.1):
        for line in lines:
            with contextlib.suppress(OSError):
                line.send(b"x")


def test_more_slow_callers_than_there_are_places_keep_nobody_out(tmp_path: Path) -> None:
    listener, stop = ShardListener(0, Rendezvous(tmp_path, 3, "token")), threading.Event()
    slow = [socket.create_connection((listener.host, listener.port), 5) for _ in range(listeners._MOST_CALLERS + 16)]
    thread = threading.Thread(target=drip, args=(slow, stop))
    thread.start()
    try:
        begun = time.monotonic()
        for rank in (1, 2):
            connect(endpoint_of(listener), rank, 0, SESSION, "token").close()
            assert ranks_accepted(listener) == {rank}
        assert time.monotonic() - begun < 0.8 * listeners.PROOF_SECONDS
        assert len(listener._pending) <= listeners._MOST_CALLERS
    finally:
        stop.set()
        thread.join(10)
        for line in slow:
            line.close()
        listener.close()


def test_a_caller_has_one_time_for_the_whole_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every byte comes in time; all of them would take 9 s."""
    monkeypatch.setattr(listeners, "PROOF_SECONDS", 0.5)
    listener, stop = ShardListener(0, Rendezvous(tmp_path, 2, "token")), threading.Event()
    with socket.create_connection((listener.host, listener.port), 5) as line:
        thread = threading.Thread(target=drip, args=([line], stop))
        thread.start()
        try:
            assert len(_all_of(line)) == 32  # raises TimeoutError after 5 s
        finally:
            stop.set()
            thread.join(10)
            listener.close()


def test_a_called_shard_has_one_time_for_the_whole_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "PROOF_SECONDS", 0.5)
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def answer() -> None:
            line, _ = stranger.accept()
            with line:
                drip([line], stop)

        thread = threading.Thread(target=answer)
        thread.start()
        begun = time.monotonic()
        try:
            with pytest.raises(TimeoutError):
                connect(Endpoint("127.0.0.1", stranger.getsockname()[1], "start_id"), 1, 0, SESSION, "token")
            assert time.monotonic() - begun < 2.5  # the challenge alone would take 3 s
        finally:
            stop.set()
            thread.join(10)


def test_patience_with_shards_that_compute_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def computes(_mesh: SocketMesh, _roster: Any) -> None:
        raise TimeoutError("shard 1 does not call")

    monkeypatch.setattr(sockets, "MOST_SECONDS", 0.3)
    monkeypatch.setattr(SocketMesh, "_connect", computes)
    rendezvous = Rendezvous(tmp_path, 2, "token")
    meshes = [SocketMesh(rank, rendezvous) for rank in range(2)]
    try:
        with pytest.raises(GoneError, match="2 of 2"):
            meshes[0].join()
    finally:
        for mesh in meshes:
            mesh.close()


def test_the_token_is_in_no_repr(tmp_path: Path) -> None:
    assert "secret" not in repr(Rendezvous(tmp_path, 2, "secret"))


def test_lost_is_no_error_of_parge() -> None:
    """Programs catch errors of parge to try something else; that a shard was lost must reach `take_part`."""
    assert not issubclass(LostError, PargeError)
