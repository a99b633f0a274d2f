"""Write a file so that readers see all of it or nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file, also while others read or write it; OSError if that is impossible."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as file:
            temporary = file.name
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise
