"""An exchange between processes by Arrow Flight, to measure beside the sockets of `parge.cluster.sockets`.

One stream for each direction of a pair, open for the whole run; every call carries the token.
"""

import contextlib
import secrets
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import flight

_SCHEMA = pa.schema([("bytes", pa.uint8())])


class _Token(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def start_call(self, _info: Any, headers: dict[str, list[str]]) -> None:
        """Raise unless the header is right."""
        given = headers.get("authorization", [""])[0]
        if not secrets.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            raise flight.FlightUnauthenticatedError("the token of the run is needed")


class _Server(flight.FlightServerBase):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self.changed = threading.Condition()
        self.arrived: dict[tuple[int, int], Any] = {}
        super().__init__("grpc://127.0.0.1:0", middleware={"token": _Token(token)})

    def do_put(self, _context: Any, descriptor: Any, reader: Any, _writer: Any) -> None:
        """Keep what one process sends, step by step."""
        source = int(descriptor.command)
        for step, chunk in enumerate(reader):
            with self.changed:
                self.arrived[step, source] = chunk.data.column(0).to_numpy()
                self.changed.notify_all()

    def taken(self, step: int, source: int) -> Any:
        """Wait for a message."""
        with self.changed:
            self.changed.wait_for(lambda: (step, source) in self.arrived)
            return self.arrived.pop((step, source))


class FlightExchange:
    """One of several processes that tell each other the same bytes."""

    def __init__(self, rank: int, folder: Path, size: int, token: str) -> None:
        self.rank, self.size = rank, size
        self._server = _Server(token)
        fresh = folder / f"{rank}.fresh"
        fresh.write_text(str(self._server.port))
        fresh.replace(folder / f"{rank}.port")
        options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())])
        self._writers, self._clients = {}, []
        for other in range(size):
            place = folder / f"{other}.port"
            while not place.exists():
                time.sleep(0.01)
            if other != rank:
                client = flight.FlightClient(f"grpc://127.0.0.1:{place.read_text()}")
                descriptor = flight.FlightDescriptor.for_command(str(rank).encode())
                self._clients.append(client)
                self._writers[other] = client.do_put(descriptor, _SCHEMA, options)[0]
        self._step = 0

    def share(self, data: Any) -> None:
        """Tell all others, and wait for what they tell."""
        piece = pa.record_batch([pa.array(data.view(np.uint8))], schema=_SCHEMA)
        for turn in range(1, self.size):
            self._writers[(self.rank + turn) % self.size].write_batch(piece)
        for other in self._writers:
            self._server.taken(self._step, other)
        self._step += 1

    def close(self) -> None:
        """End all streams."""
        for writer in self._writers.values():
            with contextlib.suppress(flight.FlightError, pa.ArrowException):
                writer.close()
        self._server.shutdown()
