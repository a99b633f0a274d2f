"""Which line of source code a traceback shows as the failing one, and from which module it imports.

The text has no line ends (`log.clean`): `File "a.py", line 7, in <module> from keras import Model`.
"""

from __future__ import annotations

import re

NEAR = 1000
"""How many characters before a message its traceback is searched for."""
FRAME = re.compile(r'File "([^"]{1,400})", line \d{1,6}(?:, in [\w<>.]{1,200})?')
"""A frame of Python's traceback, before its line of source code."""
ARROW = re.compile(r"-{2,9}> {0,4}(\d{1,6}) ")
"""What notebooks print before the failing line, with its number."""
EXCEPTION = re.compile(r"[\w.]{0,200}(?:Error|Exception|Warning): ?$")
IMPORT = re.compile(r"\bfrom (\.*[\w.]*) import\b((?:(?!\bfrom\b|\bimport\b).){0,300})")
OPEN_ENDS = ("(", ",", "\\")
"""How the first line of a statement ends that continues on the next."""


def failing_line(before: str) -> str:
    """The line of source code that raised a message, in the text before it; all of it without a traceback."""
    near = EXCEPTION.sub("", before[-NEAR:])
    places = [place for pattern in (FRAME, ARROW) for place in pattern.finditer(near)]
    last = max(places, key=re.Match.start, default=None)
    if last is None:
        return near
    line = near[last.end() :]
    return line.partition(f" {int(last[1]) + 1} ")[0] if last.re is ARROW else line


def failing_file(before: str) -> str:
    """The file of the last frame before a message; empty without a traceback."""
    files = FRAME.findall(before[-NEAR:])
    return files[-1] if files else ""


def imported_from(line: str, name: str) -> str | None:
    """The module from which a line imports a name, as `keras.layers` or `.other`; None if it does not."""
    imports = IMPORT.findall(line)
    listing = [module for module, names in imports if re.search(rf"\b{re.escape(name)}\b", names)]
    if listing:
        return str(listing[-1])
    is_open = bool(imports) and imports[-1][1].rstrip().endswith(OPEN_ENDS)
    return imports[-1][0] if is_open else None
