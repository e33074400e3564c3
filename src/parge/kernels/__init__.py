"""Compiled loops: plain functions over plain arrays, importing nothing else of ours but the decorator."""

from parge.kernels.safety import import_numba_alone

import_numba_alone()  # before any module of this folder imports it
