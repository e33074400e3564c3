"""Batches of walks on several threads: in one fixed order, or all at once on shared tables."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import Literal, TypeVar

B = TypeVar("B")
D = TypeVar("D")
R = TypeVar("R")

Mode = Literal["deterministic", "hogwild"]


def run_batches(
    batches: Iterable[B], draw: Callable[[B], D], train: Callable[[D], R], *, threads: int, mode: Mode
) -> Iterator[R]:
    """Draw and train every batch; yield what training returned, in the order of the batches.

    * ``deterministic``: this thread trains, batch after batch, while the others draw the batches to come. A draw
      depends on its batch alone, so the number of threads changes nothing but the time.
    * ``hogwild``: every thread draws and trains its own batches, without locks (Niu et al., NIPS 2011). Two threads
      that change one row at the same moment may lose a change, so no two runs are alike.

    Examples
    --------
    >>> list(run_batches([1, 2, 3], lambda b: 10 * b, lambda d: d + 1, threads=2, mode="deterministic"))
    [11, 21, 31]
    """
    if threads == 1:
        for batch in batches:
            yield train(draw(batch))
    elif mode == "deterministic":
        with _Pool(threads - 1) as pool:
            for drawn in _ahead(pool, draw, batches, threads - 1):
                yield train(drawn)
    else:
        with _Pool(threads) as pool:
            yield from _ahead(pool, lambda batch: train(draw(batch)), batches, 2 * threads)


class _Pool(ThreadPoolExecutor):
    """Threads that drop what they have not started when the work is left early, by an error or an interrupt."""

    def __exit__(self, *raised: object) -> None:
        self.shutdown(wait=True, cancel_futures=True)


def _ahead(pool: Executor, function: Callable[[B], R], batches: Iterable[B], depth: int) -> Iterator[R]:
    """Yield ``function(batch)`` in order, holding at most `depth` batches."""
    waiting = iter(batches)
    running: deque[Future[R]] = deque(pool.submit(function, batch) for batch in islice(waiting, depth))
    while running:
        result = running.popleft().result()
        running.extend(pool.submit(function, batch) for batch in islice(waiting, 1))
        yield result
