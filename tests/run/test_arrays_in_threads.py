"""Folders of arrays are read by several threads at once: shards of one process are threads."""

import gc
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from parge.run import arrays
from parge.run.schema import STEP


@pytest.fixture
def threads_take_turns() -> Iterator[None]:
    """Have threads take turns wherever Python can, in the middle of its parser too."""
    switch, threshold = sys.getswitchinterval(), gc.get_threshold()

    def pause(*_news: object) -> None:
        time.sleep(0)

    gc.callbacks.append(pause)
    gc.set_threshold(5)
    sys.setswitchinterval(1e-7)
    try:
        yield
    finally:
        sys.setswitchinterval(switch)
        gc.set_threshold(*threshold)
        gc.callbacks.remove(pause)


@pytest.mark.usefixtures("threads_take_turns")
def test_threads_read_the_same_folder(tmp_path: Path) -> None:
    """Python 3.11 counts how deep it parses for all threads together, and numpy parses the header of a file."""
    arrays.save(tmp_path / "s", STEP, {"part": np.arange(5, dtype=np.int32)}, {})
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: int(arrays.load(tmp_path / "s", STEP)[0]["part"].sum()), range(1500)):
            assert found == 10
