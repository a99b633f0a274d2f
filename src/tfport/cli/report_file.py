"""Write a report to a file atomically; an existing file is replaced."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from tfport.errors import Error
from tfport.formats.files import reason


def write_report(path: str, text: str) -> None:
    if not os.path.isfile(path) and os.path.lexists(path):  # a pipe, /dev/stdout, or a folder (an error)
        _write(path, path, text)
        return
    temporary = f"{path}.{secrets.token_hex(8)}"
    try:
        _write(temporary, path, text)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _write(path: str, final: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise Error(f"{final}: cannot write: {reason(error)}") from None
