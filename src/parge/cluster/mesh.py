"""Mesh: what shards send each other, in steps that all take together; and the double that runs all in one process."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Message = tuple[NDArray[Any], ...]
"""Arrays of numbers that one shard sends another."""

R = TypeVar("R")

# Sums of more numbers are shared out: every shard adds up some of them, and sends them to the others.
_MANY = 1 << 12


class Mesh(ABC):
    """The shards of a graph as one of them sees the others.

    A program for shards is a function of a mesh that every shard runs, with the same steps in the same order. A step
    is a call of a method here; it ends when all messages for this shard have arrived.

    Laws: what a step returns depends on what was given to that step alone; integers have the same sum for any number
    of shards; arrays that are received are read-only.
    """

    rank: int
    size: int
    sent_bytes: int = 0
    """Bytes of the arrays that went to other processes."""

    @abstractmethod
    def swap(self, out: Sequence[Message]) -> list[Message]:
        """Send a message to each shard, and return those of each shard for this one."""

    def share(self, *arrays: NDArray[Any]) -> list[Message]:
        """Send the same arrays to all shards; return those of each."""
        return self.swap([arrays] * self.size)

    def total(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of integers over all shards, of the same shape."""
        if self.size == 1:
            return counts
        if counts.size <= _MANY:
            return np.asarray(sum(message[0] for message in self.share(counts)))
        flat = counts.reshape(-1)
        cuts = [flat.size * rank // self.size for rank in range(self.size + 1)]
        found = self.swap([_sparse(flat[cuts[t] : cuts[t + 1]]) for t in range(self.size)])
        mine = np.zeros(cuts[self.rank + 1] - cuts[self.rank], flat.dtype)
        for message in found:
            _add(mine, message)
        total = np.zeros_like(flat)
        for t, message in enumerate(self.share(*_sparse(mine))):
            _add(total[cuts[t] : cuts[t + 1]], message)
        return total.reshape(counts.shape)

    def count(self, number: int) -> int:
        """Return the sum of one number over all shards."""
        return int(self.total(np.array([number], np.int64))[0])

    def lead(self, function: Callable[[list[Message]], Message], *arrays: NDArray[Any]) -> Message:
        """Have shard 0 compute from the arrays of all shards, and return its answer everywhere.

        For what is small, and for floating point: one processor decides for all.
        """
        nothing: Message = ()
        found = self.swap([arrays if t == 0 else nothing for t in range(self.size)])
        answer = function(found) if self.rank == 0 else nothing
        return self.swap([answer] * self.size)[0]

    def deal(self, to: NDArray[Any], *columns: NDArray[Any]) -> list[Message]:
        """Send each row of some columns to the shard that `to` names; return the rows for this one, sender by sender.

        Rows for one shard keep their order.
        """
        order = np.argsort(to, kind="stable")
        ends = np.cumsum(np.bincount(to, minlength=self.size))
        rows = [order[end - count : end] for end, count in zip(ends, np.diff(ends, prepend=0), strict=True)]
        return self.swap([tuple(column[some] for column in columns) for some in rows])


def _sparse(counts: NDArray[Any]) -> Message:
    """Return counts as a message: the places and values of those that are not 0, where that is shorter."""
    places = np.flatnonzero(counts)
    if places.size * (4 + counts.itemsize) >= counts.nbytes:
        return (counts,)
    return places.astype(np.int32), counts[places]


def _add(total: NDArray[Any], message: Message) -> None:
    """Add the counts of `_sparse`."""
    *places, values = message
    total[places[0] if places else slice(None)] += values


def column(found: Sequence[Message], place: int) -> NDArray[Any]:
    """Return one column of the rows that `Mesh.deal` gave, sender after sender."""
    return np.concatenate([message[place] for message in found])


def ask(
    mesh: Mesh, to: NDArray[Any], wanted: NDArray[Any], answer: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """Ask the shard that `to` names about each item of `wanted`; return the answers in the order of the items.

    `answer` is called once for each shard that asks.
    """
    order = np.argsort(to, kind="stable")
    found = mesh.swap([(answer(items),) for (items,) in mesh.deal(to, wanted)])
    replies = np.concatenate([message[0] for message in found])
    out = np.empty_like(replies)
    out[order] = replies
    return out


class _Exchange:
    """What the shards of one process have put down for each other."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size)
        self.boxes: list[list[Message]] = [[] for _ in range(size)]


class LocalMesh(Mesh):
    """A shard whose others are threads of the same process."""

    def __init__(self, rank: int, exchange: _Exchange) -> None:
        self.rank, self.size, self._exchange = rank, exchange.size, exchange

    def swap(self, out: Sequence[Message]) -> list[Message]:
        """Store all messages, wait for all shards, and return those for this one."""
        boxes, barrier = self._exchange.boxes, self._exchange.barrier
        boxes[self.rank] = [tuple(_frozen(array) for array in message) for message in out]
        barrier.wait()
        found = [boxes[source][self.rank] for source in range(self.size)]
        barrier.wait()
        return found


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that nobody can write to: what a shard changes afterwards, others do not see."""
    found = np.array(array)
    found.flags.writeable = False
    return found


def run_local(size: int, program: Callable[[Mesh], R]) -> list[R]:
    """Run a program on shards that are threads of this process; return what each returned.

    >>> run_local(3, lambda mesh: mesh.count(mesh.rank))
    [3, 3, 3]
    """
    exchange, failures = _Exchange(size), []

    def run(rank: int) -> Any:
        try:
            return program(LocalMesh(rank, exchange))
        except threading.BrokenBarrierError:
            return None  # another shard failed, and says why
        except BaseException as error:  # noqa: BLE001  raised below, in the caller's thread
            failures.append(error)
            exchange.barrier.abort()
            return None

    if size == 1:
        return [program(LocalMesh(0, exchange))]
    with ThreadPoolExecutor(size) as pool:
        found = list(pool.map(run, range(size)))
    if failures:
        raise failures[0]
    return found
