"""The state of the `layout` pass: operands that are transposes of others, and the new nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.graph import like
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

Perm = tuple[int, ...]


@dataclass(frozen=True)
class Transposed:
    """An operand is a transpose of `inner`: its axis `i` is axis `perm[i]` of `inner`."""

    inner: Operand
    perm: Perm

    @property
    def is_identity(self) -> bool:
        return self.perm == tuple(range(len(self.perm)))


class LayoutState:
    """The nodes added so far, and the operands that are transposed."""

    def __init__(self) -> None:
        self.nodes: list[OnnxNode] = []
        self.transposed: dict[Operand, Transposed] = {}
        self.restored: set[Operand] = set()
        """The transposed operands that were also computed in their original axis order."""

    def original(self, operand: Operand, named: bool = False) -> Operand:
        """An operand in its original axis order; `named`: the operand itself must be computed."""
        transposed = self.transposed.get(operand)
        if transposed is None:
            return operand
        if transposed.is_identity and not named:
            return transposed.inner
        if operand in self.restored:
            return operand
        self.restored.add(operand)
        op, attrs = (
            ("Identity", {}) if transposed.is_identity else ("Transpose", {"perm": list(transposed.perm)})
        )
        self.nodes.append(OnnxNode(op, (transposed.inner,), (operand,), attrs))
        return operand

    def add_transposed(
        self, node: OnnxNode, inputs: Sequence[Operand | None], perm: Perm, **attrs: Any
    ) -> bool:
        """Add a rewritten node; the old outputs are its new outputs transposed by `perm`. Always True."""
        if perm == tuple(range(len(perm))):
            self.nodes.append(like(node, tuple(inputs), node.outputs, **attrs))
            return True
        outputs = tuple(
            Operand(o.dtype, _unpermuted(o.shape, perm), name=o.name.partition("#")[0]) for o in node.outputs
        )
        self.nodes.append(like(node, tuple(inputs), outputs, **attrs))
        self.transposed.update(
            (old, Transposed(new, perm)) for old, new in zip(node.outputs, outputs, strict=True)
        )
        return True

    def ints(self, *values: int) -> Operand:
        return Operand(INT64, value=np.array(values, np.int64))


def _unpermuted(shape: Sequence[int | None] | None, perm: Perm) -> Sequence[int | None] | None:
    if shape is None:
        return None
    return [shape[perm.index(i)] for i in range(len(perm))]
