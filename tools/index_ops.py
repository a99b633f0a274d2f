"""Write down which file of the runtime declares which ops: `make index`.

Every file is loaded, and each declaration is told apart by the module that was being executed
when it was made, whoever's function made it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tfport.runtime import families, lower

OUT = Path(__file__).parent.parent / "src/tfport/runtime" / families.INDEX
PREFIX = "tfport.runtime."


def main() -> None:
    OUT.write_text(text(index()))


def index() -> dict[str, set[str]]:
    """The ops that each module declares."""
    found: dict[str, set[str]] = {}
    for name in ("LOWERINGS", "KERNELS", "STRUCTURES", "SHAPES"):
        setattr(lower, name, _Watched(found))
    families.load()
    return found


class _Watched(dict[str, Any]):
    """A table that notes who enters what."""

    def __init__(self, found: dict[str, set[str]]) -> None:
        self.found = found

    def setdefault(self, op: str, default: Any = None) -> Any:
        self.note(op)
        return super().setdefault(op, default)

    def __setitem__(self, op: str, value: Any) -> None:
        self.note(op)
        super().__setitem__(op, value)

    def update(self, entries: Any) -> None:
        for op, value in entries.items():
            self[op] = value

    def note(self, op: str) -> None:
        self.found.setdefault(_executing(sys._getframe(2)).removeprefix(PREFIX), set()).add(op)


def _executing(frame: FrameType | None) -> str:
    """The module whose top level is being executed."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith(PREFIX):
            return str(frame.f_globals["__name__"])
        frame = frame.f_back
    raise AssertionError("an op is declared by no module of the runtime")


def text(found: dict[str, set[str]]) -> str:
    rows = {module: " ".join(sorted(ops)) for module, ops in sorted(found.items())}
    return json.dumps(rows, indent=0) + "\n"


if __name__ == "__main__":
    main()
