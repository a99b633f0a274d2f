"""What one TensorFlow Lite interpreter registers: its ops with their versions, custom ops and delegates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.startup.dataclass import dataclass, field

XNNPACK, FLEX, NONE = "xnnpack", "flex", "none"
DELEGATES = (XNNPACK, FLEX, NONE)
"""What `--delegate` accepts; `none` is an interpreter without its default delegate, XNNPACK."""
SCHEMA = 3
"""The version of the schema that every interpreter reads."""


@dataclass(frozen=True, eq=False)
class LiteRegistry:
    """An interpreter: a recorded release, or a build of one's own."""

    name: str
    """For people: `ai-edge-litert 2.3.0`."""
    package: str
    version: str
    ops: Mapping[str, frozenset[int] | None] = field(repr=False)
    """The versions of each builtin op; None if they are unknown."""
    newest: int | None
    """The largest number of a builtin op that its schema has; None if unknown."""
    custom_ops: frozenset[str] = frozenset()
    """The custom ops that it registers itself."""
    delegates: frozenset[str] = frozenset()
    """The delegates that it applies by default: `xnnpack`, `flex`."""
    delegated: frozenset[str] = frozenset()
    """The custom ops that XNNPACK takes."""
    types: frozenset[int] | None = None
    """The numbers of the tensor types that it knows; None if unknown."""
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Its messages, with placeholders."""
    is_complete: bool = True
    """Whether nothing else is registered: False for a build whose ops are only partly known."""

    def versions(self, op: str) -> frozenset[int] | None:
        """The versions of an op: empty if it is not registered, None if they are unknown."""
        return self.ops.get(op, frozenset())

    def says(self, text: str, **values: object) -> str:
        """One of its messages, filled in; empty if it is not recorded."""
        return self.texts.get(text, "").format(**values)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ops": {
                op: sorted(versions) if versions is not None else None for op, versions in self.ops.items()
            },
            "custom_ops": sorted(self.custom_ops),
            "delegates": sorted(self.delegates),
            "delegated_ops": sorted(self.delegated),
            "complete": self.is_complete,
        }
