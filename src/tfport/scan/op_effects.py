"""temporary"""

from __future__ import annotations

from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class OpEffect:
    does: tuple[str, ...]
    path: tuple[str, ...] = ()
    returns: bool = False


T = {
    "ReadFile": (("reads files",), ("filename",)),
    "WriteFile": (("writes files",), ("filename",)),
    "SaveV2": (("writes files",), ("prefix",)),
    "RestoreV2": (("reads files",), ("prefix",)),
    "MergeV2Checkpoints": (("deletes files", "writes files"), ("destination_prefix",)),
    "PyFunc": (("python",), ("token",)),
    "EagerPyFunc": (("python",), ("token",)),
    "InitializeTableFromTextFileV2": (("reads files",), ("filename",)),
    "MatchingFiles": (("lists files",), ("pattern",)),
    "PrintV2": (("writes files",), ("output_stream",)),
}


def effects_of(op: str) -> OpEffect | None:
    return OpEffect(*T[op]) if op in T else None
