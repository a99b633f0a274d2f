"""An estimate of the work of an island: whether it is worth waking other threads.

Engines divide the work of one node between threads, so the node with the most work decides. Sizes that are
unknown when the island is compiled count as 1; the inputs of a call say how much larger they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass, field

LIGHT = 1e6
"""Operations of a node below which a second thread gains nothing: 20 to 50 microseconds on one core."""
PER_ELEMENT = 10
"""Operations for each element of a node that does not multiply matrices, with the reading and writing."""


@dataclass(frozen=True, slots=True)
class IslandWork:
    """The most operations of one node, and the elements of the inputs, where unknown sizes are 1."""

    most: float = math.inf
    elements: int = 1
    is_fixed: bool = field(default=False, compare=False)
    """Whether all sizes of the inputs are known, so that the work is the same in every call."""

    @property
    def may_be_light(self) -> bool:
        return self.most < LIGHT

    def is_light(self, arrays: Sequence[Any]) -> bool:
        """Whether the work for these inputs is too little for threads.

        Work may grow with the square of the inputs, as in attention, so it is taken to do so.
        """
        if self.is_fixed or not self.may_be_light:
            return self.may_be_light
        size: int = sum(array.size for array in arrays)
        growth = max(1.0, size / self.elements)
        return self.most * growth * growth < LIGHT


UNKNOWN_WORK = IslandWork()


def island_work(nodes: Sequence[OnnxNode], inputs: Sequence[Operand]) -> IslandWork:
    """The work of these nodes with these inputs."""
    elements = sum(_elements(operand) for operand in inputs)
    amounts = [0.0, *map(_work, _all_nodes(nodes))]
    if not math.isfinite(elements + sum(amounts)):
        return UNKNOWN_WORK
    is_fixed = all(operand.shape is not None and None not in operand.shape for operand in inputs)
    return IslandWork(max(amounts), max(1, int(elements)), is_fixed)


def _all_nodes(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    for node in nodes:
        yield node
        for program in node.programs:
            for step in program.steps:
                yield from _all_nodes(step.lowered or ())


def _work(node: OnnxNode) -> float:
    outputs = sum(_elements(output) for output in node.outputs)
    match node.op:
        case "Conv" | "MatMul" | "Gemm" | "FusedMatMul":
            return 2 * outputs * _summed(node)
        case "ConvTranspose":
            return 2 * _elements(node.inputs[0]) * _product(node.inputs[1], 1)
        case "LSTM" | "GRU" | "RNN":
            steps = _product(node.inputs[0], 0, 2)
            return 2 * steps * (_elements(node.inputs[1]) + _elements(node.inputs[2]))
        case _:
            return PER_ELEMENT * (outputs + sum(_elements(o) for o in node.inputs if o and o.array is None))


def _summed(node: OnnxNode) -> float:
    """The number of products that are added for one element of the output."""
    if node.op == "Conv":
        return _product(node.inputs[1], 1)
    if node.op == "Gemm" and node.attrs.get("transA"):
        return _product(node.inputs[0], 0, 1)
    return _product(node.inputs[0], -1)


def _elements(operand: Operand | None) -> float:
    return _product(operand, 0)


def _product(operand: Operand | None, start: int, end: int | None = None) -> float:
    if operand is None or operand.shape is None:
        return math.inf
    return math.prod(1 if size is None else size for size in operand.shape[start:end])
