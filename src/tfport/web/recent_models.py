"""The models that were opened last, kept between starts in the user's cache folder: paths only."""

from __future__ import annotations

import json
import os
from pathlib import Path

MOST = 20


class RecentModels:
    """A small file of paths; a file that cannot be read or written is ignored."""

    def __init__(self, path: Path | None = None) -> None:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self._path = path or Path(cache) / "tfport" / "ui_recent.json"

    def paths(self) -> list[str]:
        """The paths, the last opened first."""
        try:
            stored = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return []
        return [p for p in stored if isinstance(p, str)][:MOST] if isinstance(stored, list) else []

    def add(self, path: str) -> None:
        """Remember that a model was opened."""
        paths = [path, *(known for known in self.paths() if known != path)][:MOST]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(paths))
            temporary.replace(self._path)
        except OSError:
            return
