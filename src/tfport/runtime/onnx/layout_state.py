"""What `layout` remembers on its way: operands that are others with their axes in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

Perm = tuple[int, ...]


@dataclass(frozen=True)
class Transposed:
    """What an operand is: axis `i` of it is axis `perm[i]` of `inner`."""

    inner: Operand
    perm: Perm

    @property
    def is_same(self) -> bool:
        return self.perm == tuple(range(len(self.perm)))


class LayoutState:
    """The nodes written so far, and what has moved."""

    def __init__(self) -> None:
        self.made: list[OnnxNode] = []
        self.moved: dict[Operand, Transposed] = {}
        self.written: set[Operand] = set()
        """Those among them that something needed as they were."""

    def plain(self, operand: Operand, named: bool = False) -> Operand:
        """An operand with its axes as they were; `named` where it must be this very one."""
        moved = self.moved.get(operand)
        if moved is None:
            return operand
        if moved.is_same and not named:
            return moved.inner
        if operand in self.written:
            return operand
        self.written.add(operand)
        op, attrs = ("Identity", {}) if moved.is_same else ("Transpose", {"perm": list(moved.perm)})
        self.made.append(OnnxNode(op, (moved.inner,), (operand,), attrs))
        return operand

    def carried(self, node: OnnxNode, inputs: Sequence[Operand | None], perm: Perm, **attrs: Any) -> bool:
        """Write a node for other axes; what it answered is its new answer with axes in the order `perm`."""
        if perm == tuple(range(len(perm))):
            self.made.append(like(node, tuple(inputs), node.outputs, **attrs))
            return True
        outputs = tuple(
            Operand(o.dtype, _unpermuted(o.shape, perm), name=o.name.partition("#")[0]) for o in node.outputs
        )
        self.made.append(like(node, tuple(inputs), outputs, **attrs))
        self.moved.update(
            (old, Transposed(new, perm)) for old, new in zip(node.outputs, outputs, strict=True)
        )
        return True

    def ints(self, *values: int) -> Operand:
        return Operand(INT64, value=np.array(values, np.int64))


def like(
    node: OnnxNode, inputs: tuple[Operand | None, ...], outputs: tuple[Operand, ...], **attrs: Any
) -> OnnxNode:
    return OnnxNode(node.op, inputs, outputs, {**node.attrs, **attrs}, node.domain)


def _unpermuted(shape: Sequence[int | None] | None, perm: Perm) -> Sequence[int | None] | None:
    if shape is None:
        return None
    return [shape[perm.index(i)] for i in range(len(perm))]
