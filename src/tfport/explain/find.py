"""Find the messages of the tables in a text, each once, with the number of its occurrences.

Where the wordings of two rows match the same words, the first row of the tables counts, unless
its lookup rejects the text: specific rows come before general ones. What is within a line of
source code of a traceback is no message.

Time grows linearly with the length of the text: a pattern is tried only where its longest
literal part occurs, matches within a limited distance from there, and is given up after too
many failed attempts.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from tfport.explain.log import OVERLAP, ExceptionChains, LogWindow, windows
from tfport.explain.lookup import MessageMatch
from tfport.explain.messages import REACH, KnownMessage, MessagePattern, messages

MOST_MESSAGES = 100
MOST_FAILURES = 200
MOST_NODES = 8
WORD = re.compile(r"\w+")
Match = tuple[int, int, dict[str, str]]
"""Start and end of a message, and the names in it."""
Rows = Sequence[tuple[KnownMessage, Sequence[MessagePattern]]]
"""Rows of the tables, each with the wordings to look for."""
Find = Callable[[MessagePattern, str, int], Iterator[Match]]
TakenPart = tuple[int, int, MessageMatch]
"""Where a message was found, and which."""


class MessageFinder:
    """Finds messages in a text, window by window."""

    def __init__(self) -> None:
        self.more = 0
        """The number of messages beyond the limit of different ones."""
        self._matches_by_key: dict[tuple[str, ...], MessageMatch] = {}
        self._failures: Counter[str] = Counter()
        self._chains: ExceptionChains

    def read(self, lines: Iterable[str], *, any_case: bool = False) -> list[MessageMatch]:
        """The messages in a text, in the order of the tables.

        `any_case`: with any capitals; this is slower, and for short texts only.
        """
        find, table = (self._find_in_any_case, _all) if any_case else (self._find, _possible)
        self._chains = ExceptionChains()
        taken: list[TakenPart] = []
        for window in windows(lines):
            taken = self._read_window(window, find, table(window.text), taken)
        return list(self._matches_by_key.values())

    def _read_window(
        self, window: LogWindow, find: Find, table: Rows, before: list[TakenPart]
    ) -> list[TakenPart]:
        """Add the messages of a window; `before` and the result are those that reach into the next one."""
        taken = list(before)
        self._chains.read(window)
        for message, patterns in table:
            for start, stop, names in _find_message(patterns, window.text, window.end, find):
                if window.is_source_line(start, stop):
                    continue
                within = [match for first, last, match in taken if first <= start and stop <= last]
                if match := self._add(message, names, window, start, stop, within):
                    taken.append((start, stop, match))
        end = window.end
        return [(start - end, stop - end, match) for start, stop, match in taken if stop > end]

    def _find_in_any_case(self, pattern: MessagePattern, text: str, end: int) -> Iterator[Match]:
        for match in pattern.in_any_case.finditer(text, 0, end):
            yield match.start(), match.end(), match.groupdict()

    def _find(self, pattern: MessagePattern, text: str, end: int) -> Iterator[Match]:
        anchor, failures = pattern.anchor, self._failures
        index, last = text.find(anchor), 0
        while index >= 0 and failures[pattern.text] < MOST_FAILURES:
            after = index + len(anchor)
            if pattern.starts_with_anchor:
                match = pattern.regex.match(text, index, after + REACH)
            else:
                match = pattern.regex.search(text, max(last, index - REACH // 2), after + REACH)
            if match is None or match.start() > index:
                failures[pattern.text] += 1
            else:
                after = last = max(after, match.end())
                if match.start() < end:
                    yield match.start(), match.end(), match.groupdict()
            index = text.find(anchor, after)

    def _add(
        self,
        message: KnownMessage,
        names: dict[str, str],
        window: LogWindow,
        start: int,
        stop: int,
        within: list[MessageMatch],
    ) -> MessageMatch | None:
        text, (chain, link) = window.text, self._chains.position(window.offset + start)
        key = (message.name, *(value for name, value in sorted(names.items()) if name != "node"))
        if key not in self._matches_by_key:
            if len(self._matches_by_key) >= MOST_MESSAGES:
                self.more += not within
                return None
            self._matches_by_key[key] = MessageMatch(
                message, names, text[start : start + OVERLAP], text[start:stop], count=0,
                before=text[max(0, start - OVERLAP) : start], within=within,
            )  # fmt: skip
        match = self._matches_by_key[key]
        if not within:
            match.count += match.links.get(chain, link) == link  # a later exception repeats the message
            match.within = []
        match.links[chain] = min(link, match.links.get(chain, link))
        node = names.get("node")
        if node and node not in match.nodes and len(match.nodes) < MOST_NODES:
            match.nodes.append(node)
        return match


def _all(text: str) -> Rows:
    return [(message, message.says) for message in messages()]


def _possible(text: str) -> Rows:
    """The rows of the tables, with the wordings whose word the text has."""
    table = _wordings_by_word()
    words = {None, *WORD.findall(text)}
    places = sorted({place for word in words for place in table.get(word, ())})
    return [
        (messages()[row], [messages()[row].says[wording] for _, wording in wordings])
        for row, wordings in itertools.groupby(places, key=lambda place: place[0])
    ]


@functools.cache
def _wordings_by_word() -> dict[str | None, list[tuple[int, int]]]:
    """The places of wordings, as row and place in it, by the word that they need."""
    table: dict[str | None, list[tuple[int, int]]] = {}
    for row, message in enumerate(messages()):
        for wording, pattern in enumerate(message.says):
            table.setdefault(pattern.word, []).append((row, wording))
    return table


def _find_message(patterns: Sequence[MessagePattern], text: str, end: int, find: Find) -> Iterator[Match]:
    """The occurrences of a message; of overlapping wordings, the first in the table."""
    candidates = [
        (start, index, stop, names)
        for index, pattern in enumerate(patterns)
        for start, stop, names in find(pattern, text, end)
    ]
    last = -1
    for start, _, stop, names in sorted(candidates, key=lambda match: match[:3]):
        if start >= last:
            yield start, stop, names
            last = stop
