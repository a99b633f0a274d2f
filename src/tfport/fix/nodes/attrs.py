"""Attributes of a node, for the nodes that replace it."""

from __future__ import annotations

from typing import Any

from tfport.graph.graph import Node


def attrs_without(n: Node, *names: str) -> dict[str, Any]:
    """The attributes of a node, except for these."""
    return {name: value for name, value in n.attrs.items() if name not in names}
