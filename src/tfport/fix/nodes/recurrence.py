"""Run a recurrent cell over the steps of sequences: unrolled for a few steps, else in a loop.

`x` is (time, batch, …), each state (batch, units). With `lengths`, one per sequence or one for
all, a sequence that has ended keeps its states, and its outputs are zero. The rule that calls
`run_cell` defines what the cell computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tfport.fix.nodes.builder import RuleBuilder
from tfport.graph.frame_loop import FrameLoop, free_frame_name
from tfport.graph.graph import Node, Value
from tfport.graph.node_inputs import OperandLike

MOST_UNROLLED = 64
Inside = Mapping[str, Value]
"""The loop-invariant values of a cell by name."""
Cell = Callable[[RuleBuilder, Inside, Value, list[Value]], tuple[list[Value], list[Value]]]
"""Computes outputs and new states from the input of a step and the previous states."""


def run_cell(
    op: RuleBuilder,
    cell: Cell,
    x: Value,
    states: Sequence[Value],
    constants: Mapping[str, OperandLike],
    *,
    outputs: int = 1,
    steps: int | None = None,
    lengths: Value | None = None,
    layers: int = 1,
) -> tuple[list[Value], list[Value]]:
    """All outputs, each (time, batch, units), and the final states; `layers` is the number in the graph."""
    constants = dict(constants)
    if lengths is not None:
        constants |= {"lengths": lengths, "zeros": op.ZerosLike(states[0])}
    if steps is not None and 0 < steps * layers <= MOST_UNROLLED:
        return _unrolled(op, cell, x, list(states), constants, steps)
    return _looped(op, cell, x, states, constants, outputs)


def _unrolled(
    op: RuleBuilder,
    cell: Cell,
    x: Value,
    states: list[Value],
    constants: Mapping[str, OperandLike],
    steps: int,
) -> tuple[list[Value], list[Value]]:
    inside = {name: _value(op, operand) for name, operand in constants.items()}
    rows = op.Unpack(x, num=steps, axis=0)
    outputs_by_step: list[list[Value]] = []
    for at in range(steps):
        outputs, states = _step(op, cell, inside, at, rows.output(at), states)
        outputs_by_step.append(outputs)
    return [op.Pack(list(each), axis=0).output(0) for each in zip(*outputs_by_step, strict=True)], states


def _looped(
    op: RuleBuilder,
    cell: Cell,
    x: Value,
    states: Sequence[Value],
    constants: Mapping[str, OperandLike],
    outputs: int,
) -> tuple[list[Value], list[Value]]:
    dtype = x.dtype.base
    count = op.StridedSlice(op.Shape(x, out_type="int32"), [0], [1], [1], shrink_axis_mask=1)
    indices = op.Range(0, count, 1)
    rows, *arrays = (op.TensorArrayV3(count, dtype=dtype) for _ in range(1 + outputs))
    filled = op.TensorArrayScatterV3(rows, indices, x, rows.output(1))
    beside = op.beside
    loop = FrameLoop(op.node, free_frame_name(beside.graph, f"{beside.name}/loop"), count)
    inside = {name: loop.invariant(element) for name, element in constants.items()}
    read, full, written = (
        loop.invariant(rows),
        loop.invariant(filled),
        [loop.invariant(element) for element in arrays],
    )
    before = loop.start([*states, *(element.output(1) for element in arrays)])
    row = op.TensorArrayReadV3(read, loop.index, full, dtype=dtype)
    answers, after = _step(op, cell, inside, loop.index, row.output(0), before[: len(states)])
    flows = [
        op.TensorArrayWriteV3(array, loop.index, answer, flow)
        for array, answer, flow in zip(written, answers, before[len(states) :], strict=True)
    ]
    last = loop.end([*after, *flows])
    ends = zip(arrays, last[len(states) :], strict=True)
    gathered = [op.TensorArrayGatherV3(array, indices, flow, dtype=dtype).output(0) for array, flow in ends]
    return gathered, last[: len(states)]


def _step(
    op: RuleBuilder, cell: Cell, inside: Inside, at: OperandLike, row: Value, states: list[Value]
) -> tuple[list[Value], list[Value]]:
    outputs, after = cell(op, inside, row, states)
    if "lengths" not in inside:
        return outputs, after
    live = op.Less(at, inside["lengths"])
    shown = [op.Select(live, output, inside["zeros"]).output(0) for output in outputs]
    kept = [op.Select(live, new, old).output(0) for new, old in zip(after, states, strict=True)]
    return shown, kept


def _value(op: RuleBuilder, operand: OperandLike) -> Value:
    if isinstance(operand, Node):
        return operand.output(0)
    return operand if isinstance(operand, Value) else op.const(operand)
