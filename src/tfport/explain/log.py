"""Turn a log into plain text, without colors, line prefixes, escapes and line breaks.

At most one window of the log is in memory. A message across the end of a window is complete
in the next one.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from tfport.startup.dataclass import dataclass

LONGEST_LINE = 1 << 15
WINDOW = 1 << 16
OVERLAP = 1 << 13
"""The maximum length of a message with the text that follows it."""
MOST = 1 << 26
"""The maximum number of characters that are read."""
SMALL = 4096
"""How many characters are searched again, without line breaks, if nothing was recognized."""

COLOR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
ESCAPES = {
    r"\n": " ", r"\t": " ", r"\r": " ", "\x00": " ",
    r"\"": '"', r"\u0022": '"', "&quot;": '"', "\u201c": '"', "\u201d": '"',
    r"\'": "'", r"\u0027": "'", "&#39;": "'", "\u2018": "'", "\u2019": "'", "`": "'",
    r"\u003c": "<", "&lt;": "<", r"\u003e": ">", "&gt;": ">",
}  # fmt: skip
"""Characters as JSON, HTML and word processors write them."""
ESCAPED = re.compile("|".join(map(re.escape, ESCAPES)))
PREFIXED = re.compile(r"(?<![\w'\"])u(?=['\"])")
"""What Python 2 writes before the quotes of a text: `u'SaveV2'`."""
CONTROLS = frozenset((r"\n", r"\t", r"\r"))
WINDOWS_PATH = re.compile(
    r"\b[A-Za-z]:\\(?!\\)\w|\bFile \"[^\"\\\n]{1,200}\\(?!\\)\w|\\site-packages\\(?!\\)\w"
)
"""A path of Windows that is not escaped: in its line, `\\t` is a backslash and a letter."""
PLACE = r"(?:[\w/.-]{1,200}\.(?:cc|cpp|cu|h|go|py):\d{1,6}\] ?)?"
PREFIXES = re.compile(
    r"\s*(?:"
    r"(?:>\s?){1,8}"  # quoted in an email
    r"|[\w.-]{1,80} {0,20}\| "  # docker compose
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:? ?"
    rf"(?:(?:stdout|stderr) [FP] )?(?:[IWEF] )?(?:\d{{1,9}} )?{PLACE}"
    rf"|[IWEF]\d{{4}} \d\d:\d\d:\d\d\.\d{{1,9}} {{1,8}}\d{{1,9}} {PLACE}"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d [\w.-]{1,80} [\w./-]{1,80}(?:\[\d{1,9}\])?: "
    r")"
)

TRACEBACK_PLACE = re.compile(r"\s*File \"[^\"\n]{1,400}\", line \d{1,9}, in [^\n]{1,200}$")
EXCEPTION = re.compile(r"[\w.]{0,200}(?:Error|Exception|Exit|Interrupt|Warning)\b")
NOTEBOOK_PLACE = re.compile(r"\s*[^\s(]{1,400} in [\w<>.]{1,200}\(")
NOTEBOOK_ARROW = re.compile(r"\s*-{2,9}> {0,4}\d{1,6}\b")
IMPORT_LINE = re.compile(
    r"\s*(?:-{2,9}> {0,4})?(?:\d{1,6} {1,8})?"
    r"(?:from [\w.]{1,200} import [(\w][\w, ]{0,300}[\w(,\\]|import [\w.]{1,200}(?: as \w{1,80})?)\s*$"
)
"""A line that is a statement, also without a traceback around it."""
NOTEBOOK_LINE = re.compile(r"\s*(?:-{2,9}> {0,4})?(\d{1,6})(?: |$)")


EVENT = re.compile(
    r"(?P<follows>During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception)"
    r"|(?P<nested>(?:Error|Exception): Traceback \(most recent call last\))"
    r"|(?P<traceback>Traceback \(most recent call last\))"
    r"|(?P<root>Caused by: )"
    r"|(?P<thrown>\b(?:java|javax|kotlin|android|org|com|io)\.(?:[a-z]\w{0,80}\.){1,9}[A-Z]\w{0,80}(?:Exception|Error)\b)"
)
"""Where an exception begins, and how it is connected with the one before."""
CONNECTIONS = ("Traceback (most", "Caused by: ", "exception")
"""Words of which a text with several exceptions has one: looking for them is faster."""
NEAR_EVENT = 200
"""The maximum distance between what connects two exceptions and the beginning of the second."""
LINK_REACH = 16_000
"""How far behind its beginning an exception may reach, in characters: what follows is the log again."""


def lines_of(stream: IO[str]) -> Iterator[str]:
    """The lines of a file; a very long line in pieces."""
    while line := stream.readline(LONGEST_LINE):
        yield line


class LogText:
    """The lines of a text up to the size limit; the first ones are kept in `first`."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.first: list[str] = []
        self.is_cut = False

    def __iter__(self) -> Iterator[str]:
        size = 0
        for line in self._lines:
            if size < SMALL:
                self.first.append(line)
            size += len(line)
            self.is_cut = size > MOST
            if self.is_cut:
                return
            yield line


@dataclass(frozen=True)
class LogWindow:
    """A part of the text."""

    text: str
    end: int
    """Messages that start from here on are in the next window again."""
    source_lines: list[tuple[int, int]]
    """Where the lines of source code of a traceback start and end."""
    offset: int = 0
    """The number of characters before it."""

    def is_source_line(self, start: int, stop: int) -> bool:
        """Whether a part of the text is within one line of source code."""
        return any(first <= start and stop <= last for first, last in self.source_lines)


def windows(lines: Iterable[str]) -> Iterator[LogWindow]:
    """Windows of the text, which overlap."""
    kept: list[str] = []
    source_lines: list[tuple[int, int]] = []
    size, offset, before = 0, 0, ""
    for line in lines:
        if text := " ".join(clean(line)):
            kept.append(text)
            if _is_source_line(before, line):
                source_lines.append((size, size + len(text)))
            size += len(text) + 1
            before = line
        if size > WINDOW:
            text = " ".join(kept)
            yield LogWindow(text, len(text) - OVERLAP, source_lines, offset)
            moved = len(text) - OVERLAP
            offset += moved
            source_lines = [(start - moved, stop - moved) for start, stop in source_lines if start >= moved]
            kept, size = [text[-OVERLAP:]], OVERLAP + 1
    text = " ".join(kept)
    yield LogWindow(text, len(text), source_lines, offset)


def _is_source_line(before: str, line: str) -> bool:
    """Whether a traceback shows a line of source code here, as Python and notebooks do."""
    if TRACEBACK_PLACE.match(before):
        return not EXCEPTION.match(line)
    if NOTEBOOK_ARROW.match(line) or IMPORT_LINE.match(line):
        return True
    number, previous = NOTEBOOK_LINE.match(line), NOTEBOOK_LINE.match(before)
    if number is None:
        return False
    follows = previous is not None and int(previous[1]) + 1 == int(number[1])
    return follows or NOTEBOOK_PLACE.match(before) is not None


def clean(line: str) -> list[str]:
    """The words of a line."""
    text = _unpacked(COLOR.sub("", line))
    for _ in range(3):  # the container's prefix, then the server's, then TensorFlow's
        prefix = PREFIXES.match(text)
        if prefix is None:
            break
        text = text[prefix.end() :]
    kept = CONTROLS if WINDOWS_PATH.search(text) else frozenset()
    text = ESCAPED.sub(lambda escape: escape[0] if escape[0] in kept else ESCAPES[escape[0]], text)
    return (PREFIXED.sub("", text) if "u'" in text or 'u"' in text else text).split()


def _unpacked(line: str) -> str:
    """The texts of a line that is a JSON record, as container runtimes write them."""
    if not line.lstrip().startswith("{") or not line.rstrip().endswith("}"):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return COLOR.sub("", " ".join(_strings(record)))


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < 4:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner, depth + 1)


class ExceptionPosition(NamedTuple):
    """Which exception a part of a log belongs to."""

    chain: int
    """The number of the chain of exceptions that follow from one another."""
    link: int
    """The position in the chain: the exception with the smallest is the one that the others follow from."""


OUTSIDE = ExceptionPosition(-1, 0)
"""The position of what is in no chain."""


class ExceptionChains:
    """Tells which exceptions of a log follow from others.

    Python prints the first exception first, with a sentence between it and the next; Java prints it
    last, after `Caused by:`.
    """

    def __init__(self) -> None:
        self._starts: list[tuple[int, ExceptionPosition]] = [(0, ExceptionPosition(0, 0))]
        self._read = self._chains = 0

    def read(self, window: LogWindow) -> None:
        """Add the exceptions of a window; its beginning may be read already."""
        if not any(words in window.text for words in CONNECTIONS):
            return
        first = max(0, self._read - window.offset)
        for event in EVENT.finditer(window.text, first):
            self._add(event, window.offset + event.start())
            self._read = window.offset + event.end()
        kept = [start for start in self._starts if start[0] >= window.offset]
        self._starts = [*self._starts[-1 - len(kept) : len(self._starts) - len(kept)], *kept]

    def _add(self, event: re.Match[str], index: int) -> None:
        before, (chain, link) = self._starts[-1]
        if event["follows"] or event["nested"]:
            link += 1
        elif event["root"]:
            link -= 1
        elif index - before < NEAR_EVENT and (link > 0 or event["thrown"]):
            return  # the beginning that the sentence before announces
        else:
            self._chains += 1
            chain, link = self._chains, 0
        self._starts.append((index, ExceptionPosition(chain, link)))

    def position(self, index: int) -> ExceptionPosition:
        """The exception at an index of the whole log."""
        at = bisect.bisect(self._starts, index, key=lambda start: start[0]) - 1
        start, position = self._starts[max(0, at)]
        return position if index - start < LINK_REACH else OUTSIDE


# The failing line of a traceback; the text has no line ends (`clean`):
# `File "a.py", line 7, in <module> from keras import Model`.

NEAR = 1000
"""How many characters before a message its traceback is searched for."""
FRAME = re.compile(r'File "([^"]{1,400})", line \d{1,6}(?:, in [\w<>.]{1,200})?')
"""A frame of Python's traceback, before its line of source code."""
ARROW = re.compile(r"-{2,9}> {0,4}(\d{1,6}) ")
"""What notebooks print before the failing line, with its number."""
RAISED = re.compile(r"[\w.]{0,200}(?:Error|Exception|Warning): ?$")
IMPORT = re.compile(r"\bfrom (\.*[\w.]*) import\b((?:(?!\bfrom\b|\bimport\b).){0,300})")
OPEN_ENDS = ("(", ",", "\\")
"""How the first line of a statement ends that continues on the next."""


def failing_line(before: str) -> str:
    """The line of source code that raised a message, in the text before it; all of it without a traceback."""
    near = RAISED.sub("", before[-NEAR:])
    matches = [match for pattern in (FRAME, ARROW) for match in pattern.finditer(near)]
    last = max(matches, key=re.Match.start, default=None)
    if last is None:
        return near
    line = near[last.end() :]
    return line.partition(f" {int(last[1]) + 1} ")[0] if last.re is ARROW else line


def imported_from(line: str, name: str) -> str | None:
    """The module from which a line imports a name, as `keras.layers` or `.other`; None if it does not."""
    imports = IMPORT.findall(line)
    listing = [module for module, names in imports if re.search(rf"\b{re.escape(name)}\b", names)]
    if listing:
        return str(listing[-1])
    is_open = bool(imports) and imports[-1][1].rstrip().endswith(OPEN_ENDS)
    return imports[-1][0] if is_open else None
