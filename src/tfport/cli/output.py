"""Where commands write: JSON on standard output, and reports in files."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tfport.errors import Error
from tfport.formats.files import reason
from tfport.formats.output import replace_file


def print_json(value: dict[str, Any]) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    print()


def write_report(path: str, text: str) -> None:
    """Write a report to a file atomically; an existing file is replaced."""
    content = text.encode("utf-8", "backslashreplace")
    try:
        if os.path.lexists(path) and not os.path.isfile(path):  # a pipe, /dev/stdout, or a folder (an error)
            with open(path, "wb") as file:
                file.write(content)
        else:
            replace_file(path, content)
    except OSError as error:
        raise Error(f"{path}: cannot write: {reason(error)}") from None
