"""Which images of an island come in the same number, where that number is not known.

A sum of two tensors may repeat the one image of one of them for all images of the other. A node that has no
such rule can take the place of the sum only if both have as many images.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

OF_FIRST = frozenset(["AveragePool", "BatchNormalization", "Clip", "Conv", "MaxPool", "Relu", "Sigmoid"])
"""Ops whose result has as many images as their first input."""
OF_ALL = frozenset(["Add", "Mul", "Sub"])
"""Ops whose result has as many images as their inputs, if these have the same number."""


class BatchSources:
    """For each operand the one that its number of images comes from."""

    def __init__(self, nodes: Sequence[OnnxNode]) -> None:
        self._sources: dict[Operand, Operand] = {}
        for node in nodes:
            source = self._of(node)
            if source is not None:
                self._sources.update(dict.fromkeys(node.outputs, source))

    def same(self, image: Operand, other: Operand) -> bool:
        """Whether both have the same number of images, whatever it is."""
        known = image.shape is not None and other.shape is not None and image.shape[0] is not None
        if known and image.shape[:1] == other.shape[:1]:  # type: ignore[index]
            return True
        return self.source(image) is self.source(other)

    def source(self, operand: Operand) -> Operand:
        return self._sources.get(operand, operand)

    def _of(self, node: OnnxNode) -> Operand | None:
        present = [operand for operand in node.inputs if operand is not None]
        keeps = node.op in OF_FIRST or (node.op == "Transpose" and node.attrs.get("perm", [1])[0] == 0)
        if keeps and not node.domain:
            return self.source(present[0])
        if node.op in OF_ALL and not any(_has_images(o) for o in present if o.is_constant):
            sources = {self.source(operand) for operand in present if not operand.is_constant}
            return sources.pop() if len(sources) == 1 else None
        return None


def _has_images(constant: Operand) -> bool:
    return constant.shape is None or (len(constant.shape) > 3 and constant.shape[0] != 1)
