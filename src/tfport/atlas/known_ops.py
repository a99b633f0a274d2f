"""Every op that any recorded build registers, and those of other runtimes, which no build has.

`known_ops()[name]` is the newest definition, without documentation, except whose it is if no build has it;
`known_ops().releases(name)` the first and last TensorFlow release that has the op.
`atlas` has what one release registers.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Mapping

from tfport.atlas.atlas import X86, Atlas, atlas
from tfport.formats.encoding.message import parse_text
from tfport.formats.proto.graph_pb2 import OpDef, OpList

DEFINITION = """SELECT op.definition FROM newest JOIN op ON op.rowid = newest.definition
                WHERE newest.name = ?"""
_FILE = "other_runtimes.pbtxt"


class KnownOps(Mapping[str, OpDef]):
    """Op definitions by name, read on demand; thread-safe. `others` are those of other runtimes."""

    def __init__(self, atlas: Atlas, others: Callable[[], Mapping[str, OpDef]] = dict) -> None:
        self._atlas = atlas
        self._others = others
        self._read: dict[str, OpDef | None] = {}

    def __getitem__(self, name: str) -> OpDef:
        if name not in self._read:
            rows = self._atlas.rows(DEFINITION, name)
            self._read[name] = OpDef.FromString(rows[0][0]) if rows else self._others().get(name)
        op = self._read[name]
        if op is None:
            raise KeyError(name)
        return op

    def __iter__(self) -> Iterator[str]:
        recorded = (name for (name,) in self._atlas.rows("SELECT name FROM newest"))
        return itertools.chain(recorded, self._others())

    def __len__(self) -> int:
        return int(self._atlas.rows("SELECT count(*) FROM newest")[0][0]) + len(self._others())

    def releases(self, name: str) -> tuple[str, str] | None:
        """Return the first and last TensorFlow release that has an op; None if none does."""
        rows = self._atlas.rows("SELECT first, last FROM newest WHERE name = ? AND first <> ''", name)
        return (rows[0][0], rows[0][1]) if rows else None

    def lifetime(self, name: str) -> tuple[str | None, str | None]:
        """Return the first release with an op, and the last one if newer releases do not have it."""
        span = self.releases(name)
        if span is None:
            return None, None
        return span[0], None if span[1] == self._newest else span[1]

    @functools.cached_property
    def _newest(self) -> str:
        return self.recorded()[-1]

    def providers(self, name: str) -> list[str]:
        """Return the add-ons and contrib libraries that register an op; empty if TensorFlow itself does."""
        rows = self._atlas.rows("SELECT providers FROM newest WHERE name = ?", name)
        if not rows:
            return [self._others()[name].summary] if name in self._others() else []
        return str(rows[0][0]).splitlines()

    def recorded(self) -> list[str]:
        """Return the recorded TensorFlow releases, the oldest first."""
        query = "SELECT version FROM build WHERE package = ? AND platform = ? ORDER BY id"
        return [version for (version,) in self._atlas.rows(query, "tensorflow", X86)]


@functools.cache
def known_ops() -> KnownOps:
    """Return the ops of the atlas that comes with tfport, and those of other runtimes."""
    return KnownOps(atlas(), ops_of_other_runtimes)


@functools.cache
def ops_of_other_runtimes() -> dict[str, OpDef]:
    """Return the ops in graphs that no build of TensorFlow registers: their definitions by name."""
    with open(os.path.join(os.path.dirname(__file__), _FILE), "rb") as file:
        text = file.read()
    return {op.name: op for op in parse_text(OpList, text, _FILE).op}
