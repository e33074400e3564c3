"""Checks of a technique's settings, called in its `__post_init__`: each raises `InputError` with both numbers."""

from math import inf
from typing import get_args

from parge.errors import InputError
from parge.numbers import MOST, MOST_DIM, MOST_SETTING, check_number, check_whole, shown
from parge.skipgram.batches import Mode
from parge.techniques.base import Technique

# Far more than anybody was better off with, so that no setting alone asks for years of work, or fills the memory; what
# is not listed counts what a kernel counts.
_MOST = {
    "dim": MOST_DIM,
    "seed": MOST,
    "threads": 1024,
    "walks": 100_000,
    "walk_length": 1_000_000,
    "window": 10_000,
    "negatives": 10_000,
    "samples": 10_000_000,
    "batch": 10_000_000,
    "hops": 100_000,
    "rounds": 100_000,
    "step": 100_000,
    "rank": MOST_DIM,
    "exact_up_to": MOST_DIM,
}

MOST_RATE = 1e6
"""Learning rates far below this one diverge already, which is said; over it float32 itself ends."""


def check_counts(technique: Technique, least: int, *settings: str) -> None:
    """Raise `InputError` for settings that are not whole numbers of at least `least`."""
    for setting in settings:
        most = _MOST.get(setting, MOST_SETTING)
        check_whole(f"{setting} of {technique.name}", getattr(technique, setting), least, most)


def check_range(technique: Technique, setting: str, low: float, high: float = inf, *, above: bool = False) -> None:
    """Raise `InputError` unless a setting is a number from `low` to `high`, both included; `above` excludes `low`."""
    check_number(f"{setting} of {technique.name}", getattr(technique, setting), low, high, above=above)


def check_choice(technique: Technique, setting: str, choices: tuple[str, ...]) -> None:
    """Raise `InputError` for a setting that is not one of the choices."""
    value = getattr(technique, setting)
    if value not in choices:
        raise InputError(f"{setting} of {technique.name} must be one of {', '.join(choices)}; got {shown(value)}")


def check_threads(technique: Technique) -> None:
    """Raise `InputError` unless `threads` and `mode` are valid."""
    check_counts(technique, 1, "threads")
    check_choice(technique, "mode", get_args(Mode))
