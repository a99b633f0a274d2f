"""Which unknown sizes of an island's tensors are equal, or differ by a known number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tfport.runtime.onnx.crops.axes import Followed, followed_axes, window_of
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

Base = tuple[Operand, int]
"""An operand and its axis, whose size is unknown."""


class Length(NamedTuple):
    """The size of a base, or nothing, and a known number."""

    base: Base | None
    offset: int


class Lengths:
    """The sizes of all operands of an island along each axis."""

    def __init__(self, nodes: Sequence[OnnxNode]) -> None:
        self._open: dict[Base, Length] = {}
        for node in nodes:
            for output in node.outputs:
                for axis, size in enumerate(output.shape or ()):
                    if size is None and (followed := self.followed(node, axis)):
                        source, at = node.inputs[followed[0].input], followed[0].axis
                        assert source is not None
                        base, offset = self.of(source, at)
                        self._open[output, axis] = Length(base, offset + window_of(node, axis).growth)

    def of(self, operand: Operand, axis: int) -> Length:
        """The size of an operand along an axis."""
        size = operand.shape[axis] if operand.shape is not None else None
        if size is not None:
            return Length(None, size)
        return self._open.get((operand, axis)) or Length((operand, axis), 0)

    def followed(self, node: OnnxNode, axis: int) -> list[Followed]:
        """What an axis of a node's output follows: inputs of the same length, none of them repeated."""
        followed, lengths = followed_axes(node, axis), set[Length]()
        for each in followed:
            operand = node.inputs[each.input]
            if operand is None or operand.shape is None:
                return []
            lengths.add(self.of(operand, each.axis))
        size = (node.outputs[0].shape or ())[axis] if followed else None
        if size is not None:
            lengths.add(Length(None, size - window_of(node, axis).growth))
        return followed if len(lengths) == 1 else []
