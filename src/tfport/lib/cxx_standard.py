"""Detect that a library was compiled as another C++ standard than a release.

Functions that take a string view take Abseil's own class if TensorFlow was compiled as C++14,
and `std::string_view` if it was compiled as C++17.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tfport.atlas.atlas import Build
from tfport.atlas.cxx_abi import ABSEILS
from tfport.atlas.symbols import symbols
from tfport.lib.visible_symbols import symbols_name

STANDARD = "St17basic_string_viewIcSt11char_traitsIcEE"
OF_ABSEIL = tuple(f"N4absl12lts_{date}11string_viewE" for date in ABSEILS)
REPEAT = re.compile(r"S([0-9A-Z]*)_")
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SHIFTS = range(-4, 5)
"""How far the numbers of back references can shift when one class replaces another."""


def other_standard(missing: Iterable[str], build: Build, machine: str) -> str:
    """The standard that the release needs, if it exports the same functions with the other class."""
    ours = symbols_name(build, machine)
    for name in missing:
        if any(ours in symbols().exporters(other) for other in _with_other(name, [STANDARD], OF_ABSEIL)):
            return f"compiled as C++17 or later, and {build.name} as C++14 (-std=c++14)"
        if any(ours in symbols().exporters(other) for other in _with_other(name, OF_ABSEIL, [STANDARD])):
            return f"compiled as C++14, and {build.name} as C++17 (-std=c++17)"
    return ""


def _with_other(symbol: str, old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    """The symbols with one class in place of another, with back references renumbered."""
    for view in old:
        before, separator, after = symbol.partition(view)
        if separator:
            numbers = sorted({_number(repeat[1]) for repeat in REPEAT.finditer(after)}) or [0]
            for other in new:
                ends = (_shifted(after, first, by) for first in numbers for by in SHIFTS)
                yield from (before + other + end for end in ends)


def _shifted(text: str, first: int, by: int) -> str:
    """A text in which back references from a number on are shifted."""

    def shift(repeat: re.Match[str]) -> str:
        number = _number(repeat[1])
        return f"S{_digits(number + by if number >= first else number)}_"

    return REPEAT.sub(shift, text)


def _number(digits: str) -> int:
    """The number of a back reference: `S_` is the first, `S0_` the second."""
    return int(digits, 36) + 1 if digits else 0


def _digits(number: int) -> str:
    if number <= 0:
        return ""
    high, low = divmod(number - 1, 36)
    return (DIGITS[high] if high else "") + DIGITS[low]
