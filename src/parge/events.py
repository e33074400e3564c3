"""What happens during a run, as small values that progress bars, logs and reports listen to."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A stage of the pipeline, or a step within it, has started."""

    stage: str
    text: str = ""


@dataclass(frozen=True)
class Part:
    """How far the embedding of one subgraph is: 0 started, 1 done."""

    index: int
    share: float
    n_parts: int


Event = Step | Part
Listener = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Listen to nothing."""


OnStep = Callable[[str], None]
"""Called with a description when a long step begins."""


def ignore_step(_step: str) -> None:
    """Ignore a step."""


Progress = Callable[[float], None]
"""Called now and then with the share of the work that is done, 0 to 1."""


def spaced(progress: Progress, seconds: float) -> Progress:
    """Return a function that passes progress on, at most once in that many seconds."""
    last = 0.0

    def pass_on(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds:
            last = now
            progress(float(share))

    return pass_on


def silent(_share: float) -> None:
    """Ignore progress."""


compilers: list[Callable[[], bool]] = []
"""Each says whether code is being compiled now, by this process or by one that it waits for (`parge.kernels.jit`)."""
