"""Checks of a technique's settings, made once, when it is built."""

from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

from parge.errors import InputError
from parge.techniques.base import Technique


def check_integers(technique: Technique, least: int, *settings: str) -> None:
    """Refuse settings that are not integers of at least `least`."""
    for setting in settings:
        value = getattr(technique, setting)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise _refusal(technique, setting, f"an integer of at least {least}", value)


def check_number(technique: Technique, setting: str, low: float, high: float = inf) -> None:
    """Refuse a setting that is not a finite number from `low` to `high`, both included."""
    value = getattr(technique, setting)
    if not isinstance(value, Real) or isinstance(value, bool) or not (isfinite(value) and low <= float(value) <= high):
        expected = f"a number of at least {low:g}" if high == inf else f"a number from {low:g} to {high:g}"
        raise _refusal(technique, setting, expected, value)


def check_choice(technique: Technique, setting: str, choices: tuple[str, ...]) -> None:
    """Refuse a setting that is none of the choices."""
    value = getattr(technique, setting)
    if value not in choices:
        raise _refusal(technique, setting, f"one of {', '.join(choices)}", value)


def _refusal(technique: Technique, setting: str, expected: str, value: Any) -> InputError:
    return InputError(f"{setting} of {technique.name} must be {expected}; got {value!r}")
