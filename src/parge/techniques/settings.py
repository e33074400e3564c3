"""Checks of a technique's settings, made once, when it is built."""

from math import inf
from typing import get_args

from parge.errors import InputError
from parge.numbers import MOST, MOST_DIM, MOST_SETTING, check_number, check_whole, shown
from parge.skipgram.batches import Mode
from parge.techniques.base import Technique

# All others count what a kernel counts.
_MOST = {"dim": MOST_DIM, "seed": MOST, "threads": 1024}


def check_counts(technique: Technique, least: int, *settings: str) -> None:
    """Refuse settings that are not whole numbers of at least `least`."""
    for setting in settings:
        most = _MOST.get(setting, MOST_SETTING)
        check_whole(f"{setting} of {technique.name}", getattr(technique, setting), least, most)


def check_range(technique: Technique, setting: str, low: float, high: float = inf, *, above: bool = False) -> None:
    """Refuse a setting that is not a finite number from `low` to `high`, both included; `above` leaves `low` out."""
    check_number(f"{setting} of {technique.name}", getattr(technique, setting), low, high, above=above)


def check_choice(technique: Technique, setting: str, choices: tuple[str, ...]) -> None:
    """Refuse a setting that is none of the choices."""
    value = getattr(technique, setting)
    if value not in choices:
        raise InputError(f"{setting} of {technique.name} must be one of {', '.join(choices)}; got {shown(value)}")


def check_threads(technique: Technique) -> None:
    """Raise unless `threads` and `mode` say how to run."""
    check_counts(technique, 1, "threads")
    check_choice(technique, "mode", get_args(Mode))
