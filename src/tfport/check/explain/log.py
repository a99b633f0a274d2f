"""Turn a log into plain text, without colors, line prefixes, escapes and line breaks.

At most one window of the log is in memory. A message across the end of a window is complete
in the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import IO

LONGEST_LINE = 1 << 15
WINDOW = 1 << 16
OVERLAP = 1 << 13
"""The maximum length of a message with the text that follows it."""
MOST = 1 << 26
"""The maximum number of characters that are read."""

COLOR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
ESCAPES = {
    r"\n": " ", r"\t": " ", r"\r": " ", "\x00": " ",
    r"\"": '"', r"\u0022": '"', "&quot;": '"', "\u201c": '"', "\u201d": '"',
    r"\'": "'", r"\u0027": "'", "&#39;": "'", "\u2018": "'", "\u2019": "'", "`": "'",
    r"\u003c": "<", "&lt;": "<", r"\u003e": ">", "&gt;": ">",
}  # fmt: skip
"""Characters as JSON, HTML and word processors write them."""
ESCAPED = re.compile("|".join(map(re.escape, ESCAPES)))
CONTROLS = frozenset((r"\n", r"\t", r"\r"))
WINDOWS_PATH = re.compile(r"\b[A-Za-z]:\\(?!\\)\w")
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


def lines_of(stream: IO[str]) -> Iterator[str]:
    """The lines of a file; a very long line in pieces."""
    while line := stream.readline(LONGEST_LINE):
        yield line


def windows(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Windows of the text, each with the offset before which a message belongs to it.

    A message that starts after that offset is in the next window again.
    """
    kept: list[str] = []
    size = 0
    for line in lines:
        if text := " ".join(clean(line)):
            kept.append(text)
            size += len(text) + 1
        if size > WINDOW:
            text = " ".join(kept)
            yield text, len(text) - OVERLAP
            kept, size = [text[-OVERLAP:]], OVERLAP
    text = " ".join(kept)
    yield text, len(text)


def clean(line: str) -> list[str]:
    """The words of a line."""
    text = _unpacked(COLOR.sub("", line))
    for _ in range(3):  # the container's prefix, then the server's, then TensorFlow's
        prefix = PREFIXES.match(text)
        if prefix is None:
            break
        text = text[prefix.end() :]
    kept = CONTROLS if WINDOWS_PATH.search(text) else frozenset()
    return ESCAPED.sub(lambda escape: escape[0] if escape[0] in kept else ESCAPES[escape[0]], text).split()


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
