"""Nodes that the runtime cannot run, collected while planning and reported together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.discovery import STALE
from tfport.errors import CannotRun
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.lower import KERNELS, LOWERINGS, STRUCTURES
from tfport.startup.dataclass import dataclass

MAX_LISTED = 20
CUSTOM_OP_FIX = (
    "define it with `tfport.op` in a file (`--ops FILE.py`), load its library (`--library FILE.so`, built by "
    "`tfport lib build`), or replace it with `tfport.stub`"
)


@dataclass(frozen=True, slots=True)
class UnsupportedNode:
    """A node for which there is no kernel, lowering or structure."""

    node: Node
    why: str

    def __str__(self) -> str:
        graph = self.node.graph
        inside = f" in function `{graph.name}`" if isinstance(graph, Function) else ""
        return f"`{self.node.name}` ({self.node.op}){inside}: {self.why}"


def raise_unsupported(nodes: Sequence[UnsupportedNode], where: str) -> None:
    """Raise CannotRun if there are any, and list them all in one message."""
    if nodes:
        messages = list(dict.fromkeys(map(str, nodes)))
        more = f"; and {len(messages) - MAX_LISTED} more" if len(messages) > MAX_LISTED else ""
        count = "1 node" if len(messages) == 1 else f"{len(messages)} nodes"
        error = CannotRun(f"{where}: {count} cannot run here: {'; '.join(messages[:MAX_LISTED])}{more}")
        error.ops = tuple(sorted({unsupported.node.op for unsupported in nodes}))
        raise error


def unknown_op(op: str) -> str:
    """Why a node whose op has no definition is unsupported."""
    return f"tfport has no kernel for the custom op `{op}`; {CUSTOM_OP_FIX}"


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
    types = ", ".join(f"{name}={value}" for name, value in sorted(attrs.items()) if isinstance(value, DType))
    return f"tfport has no kernel for {types or 'these attributes'} ({why_not_lowered})"
