"""Checks of numbers (whole, finite, within a range), and how messages show a value."""

import re
from decimal import Decimal, InvalidOperation
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

from parge.errors import InputError

# What files, arrays and the system's calls can hold; what a compiled kernel counts with; the longest vector.
MOST, MOST_SETTING, MOST_DIM = 2**63 - 1, 2**31 - 1, 65_536

# However people write a number: 1000000, 1_000_000, 1,000,000, 1e6, 2.5e6.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:_[0-9]+)*|[0-9]{1,3}(?:,[0-9]{3})+)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")

# Digits of any number that is let in; more are not even read, since Python takes its time for them, or refuses.
_DIGITS = 40

# Characters of a value that a message shows, and of these at the end.
_SHOWN, _TAIL = 64, 8


def shown(value: Any) -> str:
    """Return the `repr` of a value for a message, shortened if it is long.

    >>> shown("2GB"), shown("9" * 5000), shown(10**5000)
    ("'2GB'", "'9999999999999999999999999999999999999...9999999' (5,002 characters)", 'a number of about 5,001 digits')
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        if not isinstance(value, int):
            return f"a {type(value).__name__} that is too long to show"
        return f"a number of about {int(value.bit_length() * 0.30103) + 1:,} digits"
    if len(text) <= _SHOWN:
        return text
    ending = f" ({len(text):,} characters)"
    return f"{text[: max(1, _SHOWN - _TAIL - len(ending) + 1)]}...{text[-_TAIL:]}{ending}"


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer, of Python or of numpy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Return whether a value is a number, of Python or of numpy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_whole(what: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """Return a whole number from `least` to `most`, or raise.

    >>> check_whole("walks", 10, 1)
    10
    """
    number = int(value) if is_whole(value) else None
    if number is None or not least <= number <= most:
        raise _no_whole(what, value, least, most)
    return number


def read_whole(what: str, text: str, least: int = 0, most: int = MOST) -> int:
    """Return the whole number from `least` to `most` that a text holds in any notation, or raise.

    >>> [read_whole("--vertices", text) for text in ("1000000", "1_000_000", "1,000,000", "1e6", "2.5e3")]
    [1000000, 1000000, 1000000, 1000000, 2500]
    """
    number = _decimal(text)
    if number is None or not least <= number <= most or number != number.to_integral_value():
        raise _no_whole(what, text, least, most)
    return int(number)


def is_number(text: str) -> bool:
    """Return whether a text is a number, in any notation and of any length.

    >>> [is_number(text) for text in ("1e6", "1,000,000", "-3", "2.5", "1e6.txt", "e6", "1,00")]
    [True, True, True, True, False, False, False]
    """
    return _NUMBER.fullmatch(text) is not None and text.lstrip("+-.")[:1].isdigit()


def _decimal(text: str) -> Decimal | None:
    """Return the number in a text, of any size; None if it is not a number, or has too many digits."""
    number = text.strip()
    if not is_number(number) or len(number) > _DIGITS:
        return None
    try:
        return Decimal(number.replace(",", ""))
    except InvalidOperation:  # an exponent of many digits
        return None


def check_number(
    what: str, value: Any, low: float = -inf, high: float = inf, *, above: bool = False, below: bool = False
) -> float:
    """Return a finite number from `low` to `high`, or raise; `above` and `below` exclude the ends.

    >>> check_number("mixing", 0.3, 0, 1)
    0.3
    """
    number = _finite(value) if is_real(value) else None
    if number is None or not _within(number, low, high, above=above, below=below):
        raise InputError(f"{what} must be {_range(low, high, above=above, below=below)}; got {shown(value)}")
    return number


def read_number(
    what: str, text: str, low: float = -inf, high: float = inf, *, above: bool = False, below: bool = False
) -> float:
    """Return the finite number from `low` to `high` that a text holds, or raise."""
    number = _finite(text)
    if number is None or not _within(number, low, high, above=above, below=below):
        raise InputError(f"{what} must be {_range(low, high, above=above, below=below)}; got {shown(text)}")
    return number


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _within(number: float, low: float, high: float, *, above: bool, below: bool) -> bool:
    return (low < number if above else low <= number) and (number < high if below else number <= high)


def _range(low: float, high: float, *, above: bool, below: bool) -> str:
    """Describe a range of numbers."""
    if above and below:
        return f"a number between {low:g} and {high:g}"
    least = "" if low == -inf else f" above {low:g}" if above else f" of at least {low:g}"
    most = "" if high == inf else f" below {high:g}" if below else f" of at most {high:g}"
    if low == -inf or high == inf:
        return f"a finite number{least}{most}" if least == most else f"a number{least}{most}"
    return f"a number{least} and{most.removeprefix(' of')}" if above or below else f"a number from {low:g} to {high:g}"


def _no_whole(what: str, value: Any, least: int, most: int) -> InputError:
    return InputError(f"{what} must be a whole number of at least {least}{_most(value, most)}; got {shown(value)}")


def _most(value: Any, most: int) -> str:
    """Name the upper end if it was exceeded."""
    text = value.strip() if isinstance(value, str) else ""
    beyond = isinstance(value, Integral) and int(value) > most
    number = _decimal(text)
    written = is_number(text) and not text.startswith("-") and (number is None or number > most)
    return f" and at most {most}" if beyond or written else ""
