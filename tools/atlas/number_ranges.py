"""Numbers as text: `0-3,5`. The records of releases have them for the releases in which something holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def ranges_of(numbers: Iterable[int]) -> str:
    """`0-3,5`: ascending numbers as ranges."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def numbers_in(ranges: str) -> Iterator[int]:
    """The numbers of such a text."""
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
