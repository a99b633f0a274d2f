"""Nodes that the runtime cannot run, collected while planning and reported together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfport.discovery import STALE
from tfport.errors import CannotRun
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.lower import KERNELS, LOWERINGS, STRUCTURES

MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class UnsupportedNode:
    """A node for which there is no kernel, lowering or structure."""

    node: Node
    why: str

    def __str__(self) -> str:
        return f"`{self.node.name}` ({self.node.op}): {self.why}"


def raise_unsupported(nodes: Sequence[UnsupportedNode], where: str) -> None:
    """Raise CannotRun if there are any, and list them all in one message."""
    if nodes:
        messages = list(dict.fromkeys(map(str, nodes)))
        more = f"; and {len(messages) - MAX_LISTED} more" if len(messages) > MAX_LISTED else ""
        count = "1 node" if len(messages) == 1 else f"{len(messages)} nodes"
        raise CannotRun(f"{where}: {count} cannot run here: {'; '.join(messages[:MAX_LISTED])}{more}")


def unknown_op(op: str) -> str:
    """Why a node whose op has no definition is unsupported."""
    return (
        f"unknown op `{op}`; define it with `tfport.op` or load its library "
        "(`tfport.stub` replaces it for one session)"
    )


def missing_kernel(
    implementations: OpImplementations, op: str, attrs: Mapping[str, Attr], why_not_lowered: str
) -> str:
    """Why a node without a kernel for its attributes is unsupported."""
    reason = implementations.why_missing(op, attrs, why_not_lowered)
    if reason is not None:
        return reason
    if not implementations.kernels_of(op) and not implementations.lowerings_of(op):
        if any(catalog.lacks(op) for catalog in (KERNELS, LOWERINGS, STRUCTURES)):
            return f"the index lacks this op, which a module of tfport declares; {STALE}"
        return "tfport has no kernel for this op"
    types = ", ".join(f"{name}={value}" for name, value in attrs.items() if isinstance(value, DType))
    return f"tfport has no kernel for {types or 'these attributes'} ({why_not_lowered})"
