"""Regular expressions that are compiled at their first use.

Compiling one takes as long as importing a small module, and a command uses few of those that its
modules declare.

    NAME = late_pattern(r"[a-z]+")
    NAME.fullmatch("abc")
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`. The result has the methods of a pattern, but the functions of `re` do not take it."""
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))


class _LatePattern:
    """Has the methods of a pattern once one is asked for."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._declared = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(*self._declared), name)
        setattr(self, name, attribute)  # found without this function from now on
        return attribute

    def __repr__(self) -> str:
        return f"late_pattern{self._declared!r}"
