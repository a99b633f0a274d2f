"""Reasons why a model cannot be rewritten, each once: those that differ only in names are one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

NAME = re.compile(r"`[^`]*`")


def grouped(reasons: Iterable[str]) -> Iterator[str]:
    """The first of the reasons that say the same about other names, and how many more there are."""
    alike: dict[str, dict[str, None]] = {}
    for reason in reasons:
        alike.setdefault(NAME.sub("``", reason), {})[reason] = None
    for same in alike.values():
        first, *more = same
        yield f"{first} (and {len(more)} more)" if more else first
