"""Read and write recorded JSON as compact, compressed files (`NAME.json.xz`).

    records = read_json(path)
    write_json(path, records)       keys sorted; the same value gives the same file

`xzcat FILE | python -m json.tool` prints such a file.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

PRESET = 9 | lzma.PRESET_EXTREME


def read_json(path: Path) -> Any:
    """Return the value stored in a `.json.xz` file."""
    return json.loads(lzma.decompress(path.read_bytes()))


def write_json(path: Path, value: Any) -> None:
    """Store a value; leave the file alone if it already stores this value.

    Versions of liblzma compress differently, so equal content is compared uncompressed.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    if path.exists() and lzma.decompress(path.read_bytes()) == text:
        return
    path.write_bytes(lzma.compress(text, preset=PRESET))
