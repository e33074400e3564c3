"""How many threads the numerical libraries may use."""

from threadpoolctl import threadpool_limits


def one_blas_thread() -> threadpool_limits:
    """Keep BLAS to one thread: sums in one order give the same bits anywhere, and threads fight over small SVDs.

    (On two busy cores the rotations of 8 spaces took 400 s with two threads, 1 s with one.)
    """
    return threadpool_limits(1, "blas")
