"""How many threads the numerical libraries may use, and our own over blocks of rows."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from types import TracebackType
from typing import Self, TypeVar

from threadpoolctl import ThreadpoolController

# Results of each thread that wait for those before them.
WAITING = 4

T = TypeVar("T")
U = TypeVar("U")


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: sums in one order give the same bits anywhere, and threads fight over small SVDs.

    (On two busy cores the rotations of 8 spaces took 400 s with two threads, 1 s with one.)
    """
    limited: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Return the libraries that are loaded; they are looked for again, which takes up to 2 ms, after an import."""
    del n_modules
    return ThreadpoolController()


class Threads:
    """Some threads that blocks of rows are given to, one after the other.

    >>> with Threads(2) as threads:
    ...     list(threads.map(abs, [-3, 2, -1]))
    [3, 2, 1]
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def map(self, function: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        """Yield what the function returns for each, in the order of the items; few results are held at a time."""
        if self._pool is None:
            yield from map(function, items)
            return
        waiting: deque[Future[U]] = deque()
        for item in items:
            waiting.append(self._pool.submit(function, item))
            if len(waiting) > WAITING * self.n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def each(self, function: Callable[[T], None], items: Iterable[T]) -> None:
        """Call the function for each."""
        for _ in self.map(function, items):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
