"""Split a line of the node notation into tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from tfport.errors import MalformedGraph
from tfport.startup.late_pattern import late_pattern

T = TypeVar("T")

# the end of a number, so that `1x`, `3/conv` and `inf_2` are names
_END = r"(?![\w/.>:\\-])"
_REAL = r"(?:inf|nan|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_TOKEN = late_pattern(
    rf"""\s*(?:(?P<comment>\#.*)
          | (?P<bytes>b(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
          | (?P<string>"(?:[^"\\]|\\.)*")
          | (?P<complex>[-+]?{_REAL}[-+]{_REAL}j{_END})
          | (?P<number>[-+]?{_REAL}{_END})
          | (?P<ellipsis>\.\.\.)
          | (?P<arrow>->)
          | (?P<word>[\w.<>][\w./<>\\-]*(?::\d+)?)
          | (?P<mark>[=(){{}}\[\],^@$?:]))""",
    re.VERBOSE,
)
LONGEST = 200


class Tokens:
    """The tokens of a line, read one by one; an unexpected one raises MalformedGraph."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        at, end = 0, len(line.rstrip())
        while at < end:
            token = _TOKEN.match(line, at)
            if token is None or token.lastgroup is None:
                raise MalformedGraph(
                    f"column {at + 1} of `{self.shown}`: expected a name, a value or punctuation"
                )
            if token.lastgroup != "comment":
                self.tokens.append((token.lastgroup, token.group(token.lastgroup)))
            at = token.end()

    @property
    def shown(self) -> str:
        return self.line if len(self.line) <= LONGEST else self.line[:LONGEST] + "…"

    def fail(self, problem: str) -> MalformedGraph:
        return MalformedGraph(f"in `{self.shown}`: {problem}")

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self, mark: str) -> bool:
        return not self.is_done and self.tokens[self.at][1] == mark

    def next(self, *expected: str) -> tuple[str, str]:
        """The next token as kind and text; it must have one of these kinds or texts."""
        kind, text = ("end", "the end") if self.is_done else self.tokens[self.at]
        if kind == "end" or (expected and kind not in expected and text not in expected):
            raise self.fail(f"expected {' or '.join(expected) or 'a value'}, found {text}")
        self.at += 1
        return kind, text

    def skip(self, mark: str) -> bool:
        is_next = self.peek(mark)
        self.at += is_next
        return is_next

    def separated(self, read: Callable[[], T], end: str) -> list[T]:
        """Call `read` for each element of a comma-separated list up to `end`."""
        out = []
        while not self.skip(end):
            out.append(read())
            if not self.peek(end):
                self.next(",")
        return out

    def done(self) -> None:
        if not self.is_done:
            raise self.fail(f"expected the end, found {self.tokens[self.at][1]}")
