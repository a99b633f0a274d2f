"""Which ops has any recorded TensorFlow release registered, and how is each defined?

`known_ops()[name]` is the newest definition, without its prose;
`known_ops().releases(name)` the first and last recorded release that has it.
What one release registers is not answered here.
"""

from __future__ import annotations

import functools
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from tfport.formats.proto.graph_pb2 import OpDef


class KnownOps(Mapping[str, OpDef]):
    """Op definitions by name, read as any thread asks for them. They are shared: copy before a change."""

    def __init__(self, path: Path) -> None:
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        # one connection behind one lock: a look-up takes microseconds
        self._database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        self._lock = threading.Lock()
        self._read: dict[str, OpDef] = {}
        weakref.finalize(self, self._database.close)

    def __getitem__(self, name: str) -> OpDef:
        if name not in self._read:
            found = self._rows("SELECT definition FROM op WHERE name = ?", name)
            if not found:
                raise KeyError(name)
            self._read[name] = OpDef.FromString(found[0][0])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return (name for (name,) in self._rows("SELECT name FROM op ORDER BY name"))

    def __len__(self) -> int:
        return len(self._rows("SELECT name FROM op"))

    def releases(self, name: str) -> tuple[str, str] | None:
        """The first and the last recorded release that registers an op; None if none does."""
        return next(iter(self._rows("SELECT first, last FROM op WHERE name = ?", name)), None)

    def provider(self, name: str) -> str | None:
        """The library of TensorFlow's wheel that brings an op; None if it is TensorFlow's own, or unknown."""
        return next((row[0] for row in self._rows("SELECT provider FROM op WHERE name = ?", name)), None)

    def recorded(self) -> dict[str, int]:
        """The recorded releases, oldest first, and how many ops each registers by itself."""
        return dict(self._rows("SELECT version, ops FROM release ORDER BY number"))

    def _rows(self, query: str, *values: str) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()


@functools.cache
def known_ops() -> KnownOps:
    """The ops of the releases that tfport has recorded."""
    with resources.as_file(resources.files("tfport.atlas") / "ops.sqlite") as path:
        return KnownOps(path)
