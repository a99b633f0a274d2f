"""Operands of one iteration whose values in all iterations are rows of a tensor outside the loop.

These are rows that the loop reads in order, outputs of layers that are taken out of the loop, and
sums and products of both (residual connections), which are computed for all iterations at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.layers.time_loop import TimeLoop
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer

_ELEMENTWISE: dict[str, tuple[Callable[..., Any], str]] = {
    "Add": (np.add, "Add"),
    "AddV2": (np.add, "Add"),
    "Sub": (np.subtract, "Sub"),
    "Mul": (np.multiply, "Mul"),
}


class TimeRows:
    """The operands of a loop that are rows, all of rank 2; `known` grows as layers are recognized."""

    def __init__(self, loop: TimeLoop) -> None:
        self._loop = loop
        self.reads = {
            step.outputs[0]: rows
            for step in loop.steps
            if (rows := rows_read_in_order(loop, step)) is not None
            and rows.dtype == FLOAT32
            and rows.rank == 3
        }
        """The rows that the loop reads, and the tensors that they are rows of."""
        self._computed: dict[Operand, Step] = {}
        self.known = set(self.reads)
        self._complete()

    def add(self, output: Operand) -> None:
        """Add the output of a layer."""
        self.known.add(output)
        self._complete()

    def _complete(self) -> None:
        for step in self._loop.steps:
            if (
                step.op in _ELEMENTWISE
                and not self.known.isdisjoint(step.inputs)
                and self.known.isdisjoint(step.outputs)
                and all(operand in self.known or self._is_constant(operand) for operand in step.inputs)
            ):
                self._computed[step.outputs[0]] = step
                self.known.add(step.outputs[0])

    def _is_constant(self, operand: Operand) -> bool:
        """Whether an operand is the same in each iteration, and is repeated along the time if added."""
        return operand.rank is not None and operand.rank <= 2 and not self._loop.varies(operand)

    def stacked(self, tracer: Tracer, operand: Operand, tensors: dict[Operand, Operand]) -> Operand:
        """The tensor of all rows of an operand; `tensors` has those of reads and layers."""
        if operand in tensors or operand not in self._computed:
            return tensors.get(operand, operand)
        step = self._computed[operand]
        function, name = _ELEMENTWISE[step.op]
        tensors[operand] = emit(
            tracer,
            step.name,
            step.op,
            [self.stacked(tracer, part, tensors) for part in step.inputs],
            function,
            (FLOAT32, None if operand.shape is None else (None, *operand.shape)),
            lambda b, x, y: b.nodes(name, x, y, dtype=FLOAT32)[0],
        )
        return tensors[operand]


def rows_read_in_order(loop: TimeLoop, step: Step) -> Operand | None:
    """The tensor whose rows a step reads in order from the first, or None."""
    if step.op == "GatherV2":
        rows, index, axis = step.inputs
        if axis.array is None or int(axis.array) != 0 or step.attrs.get("batch_dims"):
            return None
    elif step.op == "TensorListGetItem" and len(step.inputs) == 2:
        rows, index = step.inputs
    else:
        return None
    counter = next((i for i, arg in enumerate(loop.args) if arg is index), None)
    if counter is None or loop.counters.get(counter) != 0 or loop.varies(rows):
        return None
    return rows
