"""Which messages of the table are in a text, each once, with how often it is there.

Time grows with the length of the text alone: a pattern is tried where its longest
piece of plain text stands, reaches a bounded way from there, and is given up when
it has begun like a message and been none too often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tfport.check.explain.log import OVERLAP, windows
from tfport.check.explain.lookup import MessageMatch
from tfport.check.explain.messages import REACH, KnownMessage, MessagePattern, messages

MOST_MESSAGES = 100
MOST_FAILURES = 200
MOST_NODES = 8
Match = tuple[int, int, dict[str, str]]
"""Where a message begins and ends, and the names in it."""


class MessageFinder:
    """Reads a text piece by piece."""

    def __init__(self) -> None:
        self.more = 0
        """Messages that were left out, since there were too many different ones before."""
        self._said: dict[tuple[str, ...], MessageMatch] = {}
        self._failures: Counter[str] = Counter()

    def read(self, lines: Iterable[str]) -> list[MessageMatch]:
        """What a text says, in the order of the table."""
        for text, end in windows(lines):
            for message in messages():
                for start, stop, names in self._in(message, text, end):
                    self._enter(message, names, text[start:stop], text[start : start + OVERLAP])
        return list(self._said.values())

    def _in(self, message: KnownMessage, text: str, end: int) -> Iterator[Match]:
        """Where a message is; of wordings that overlap, the first of the table."""
        found = [
            (start, place, stop, names)
            for place, pattern in enumerate(message.says)
            for start, stop, names in self._matches(pattern, text, end)
        ]
        last = -1
        for start, _, stop, names in sorted(found, key=lambda match: match[:3]):
            if start >= last:
                yield start, stop, names
                last = stop

    def _matches(self, pattern: MessagePattern, text: str, end: int) -> Iterator[Match]:
        anchor, failures = pattern.anchor, self._failures
        place, last = text.find(anchor), 0
        while place >= 0 and failures[pattern.text] < MOST_FAILURES:
            after = place + len(anchor)
            if pattern.begins_plainly:
                found = pattern.regex.match(text, place, after + REACH)
            else:
                found = pattern.regex.search(text, max(last, place - REACH // 2), after + REACH)
            if found is None or found.start() > place:
                failures[pattern.text] += 1
            else:
                after = last = max(after, found.end())
                if found.start() < end:
                    yield found.start(), found.end(), found.groupdict()
            place = text.find(anchor, after)

    def _enter(self, message: KnownMessage, names: dict[str, str], quote: str, text: str) -> None:
        key = (message.name, *(value for name, value in sorted(names.items()) if name != "node"))
        if key not in self._said:
            if len(self._said) >= MOST_MESSAGES:
                self.more += 1
                return
            self._said[key] = MessageMatch(message, names, text, quote, count=0)
        said = self._said[key]
        said.count += 1
        node = names.get("node")
        if node and node not in said.nodes and len(said.nodes) < MOST_NODES:
            said.nodes.append(node)
