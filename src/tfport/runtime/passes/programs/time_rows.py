"""Loops over time: operands of an iteration that are rows of a tensor outside, and lengths of sequences.

Rows are those that the loop reads in order, outputs of layers that are taken out of the loop, and
sums and products of both (residual connections), which are computed for all iterations at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.loop_body import TimeLoop
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.program import Step
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import replace

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
            for step in loop.program.steps
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
        for step in self._loop.program.steps:
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


def without_lengths(loop: TimeLoop, is_zero: Callable[[Operand], bool]) -> tuple[TimeLoop, Operand] | None:
    """The loop without the selection by sequence length, and the lengths.

    After the end of a sequence TF1 keeps its state, `Select(time >= lengths, old, new)`, and its
    outputs are zeros. All states and outputs must have this form.
    """
    results, masks = list(loop.results), list[Operand]()
    for i in loop.states:
        step = loop.program.producer(results[i], "Select")
        if step is None or step.inputs[1] is not loop.args[i]:
            return None
        masks.append(step.inputs[0])
        results[i] = step.inputs[2]
    items = []
    for item in loop.outputs:
        step = loop.program.producer(item, "Select")
        if step is None or not is_zero(step.inputs[1]):
            return None
        masks.append(step.inputs[0])
        items.append(step.inputs[2])
    # older releases compare the time with the lengths once per state
    lengths = {_lengths(loop, loop.program.producer(mask)) for mask in masks}
    (same,) = lengths if len(lengths) == 1 else (None,)
    return (replace(loop, results=results, outputs=items), same) if same is not None else None


def _lengths(loop: TimeLoop, step: Step | None) -> Operand | None:
    """The lengths in `time >= lengths`, if time is a counter from zero."""
    if step is None or step.op != "GreaterEqual":
        return None
    time, lengths = step.inputs
    counter = next((i for i, arg in enumerate(loop.args) if arg is time), None)
    if counter is None or loop.counters.get(counter) != 0 or lengths.rank != 1 or loop.varies(lengths):
        return None
    return lengths
