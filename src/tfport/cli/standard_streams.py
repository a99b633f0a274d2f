"""Standard streams that never stop a command: closed ones are opened, write errors of messages ignored.

A server may be started with standard error on a full disk or without one; it should serve anyway.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

STANDARD_ERROR = 2


def secure_standard_streams() -> None:
    """Open what is closed, and make errors of standard error harmless."""
    for descriptor in range(STANDARD_ERROR + 1):
        try:
            os.fstat(descriptor)
        except OSError:  # otherwise the next file or socket would become a standard stream
            os.open(os.devnull, os.O_RDWR)  # the system takes the lowest free number
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  until the process ends
    if sys.stderr is None or (sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper)):
        encoding = sys.stderr.encoding if sys.stderr else "utf-8"
        raw: Any = _ForgivingFile(STANDARD_ERROR, "w", closefd=False)
        sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


class _ForgivingFile(io.FileIO):
    """A file whose write errors are ignored."""

    def write(self, data: Any, /) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest and (written := super().write(rest)):
                rest = rest[written:]
        except OSError:
            pass
        return size
