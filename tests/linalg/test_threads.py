"""BLAS is kept to one thread for a while, also that of a library that was loaded since the last time."""

import sys
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from parge.linalg.threads import _libraries, one_blas_thread


def blas_threads() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_blas_has_one_thread_inside_and_as_many_as_before_afterwards() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    before = blas_threads()
    for _ in range(2):
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_libraries_are_looked_for_again_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks() -> int:
        with one_blas_thread():
            return _libraries.cache_info().misses

    before = looks()
    assert looks() == before
    monkeypatch.setitem(sys.modules, "a_new_module", ModuleType("a_new_module"))
    assert looks() == before + 1
