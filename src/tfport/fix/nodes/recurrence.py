"""A recurrent cell turned over the steps of sequences: unrolled where they are few, else in a loop.

`x` is (time, batch, …), each state (batch, units). With `lengths`, for each sequence or one for
all, a sequence that has ended keeps its states, and its outputs are zero. What a cell computes
is its rule's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tfport.fix.nodes.builder import Given, NodeBuilder
from tfport.fix.nodes.loop import FrameLoop
from tfport.graph.graph import Node, Value

MOST_UNROLLED = 64
Inside = Mapping[str, Value]
"""What a cell reads in every step, by name."""
Cell = Callable[[NodeBuilder, Inside, Value, list[Value]], tuple[list[Value], list[Value]]]
"""Outputs and new states, of a step's input and the states before."""


def over_time(
    op: NodeBuilder,
    cell: Cell,
    x: Value,
    states: Sequence[Value],
    given: Mapping[str, Given],
    *,
    outputs: int = 1,
    steps: int | None = None,
    lengths: Value | None = None,
    layers: int = 1,
) -> tuple[list[Value], list[Value]]:
    """All outputs, each (time, batch, units), and the last states; `layers` run in the same graph."""
    given = dict(given)
    if lengths is not None:
        given |= {"lengths": lengths, "zeros": op.ZerosLike(states[0])}
    if steps is not None and 0 < steps * layers <= MOST_UNROLLED:
        return _unrolled(op, cell, x, list(states), given, steps)
    return _looped(op, cell, x, states, given, outputs)


def _unrolled(
    op: NodeBuilder, cell: Cell, x: Value, states: list[Value], given: Mapping[str, Given], steps: int
) -> tuple[list[Value], list[Value]]:
    inside = {name: _value(op, one) for name, one in given.items()}
    rows = op.Unpack(x, num=steps, axis=0)
    made: list[list[Value]] = []
    for at in range(steps):
        outputs, states = _step(op, cell, inside, at, rows.output(at), states)
        made.append(outputs)
    return [op.Pack(list(each), axis=0).output(0) for each in zip(*made, strict=True)], states


def _looped(
    op: NodeBuilder, cell: Cell, x: Value, states: Sequence[Value], given: Mapping[str, Given], outputs: int
) -> tuple[list[Value], list[Value]]:
    kind = x.dtype.base
    count = op.StridedSlice(op.Shape(x, out_type="int32"), [0], [1], [1], shrink_axis_mask=1)
    places = op.Range(0, count, 1)
    rows, *made = (op.TensorArrayV3(count, dtype=kind) for _ in range(1 + outputs))
    filled = op.TensorArrayScatterV3(rows, places, x, rows.output(1))
    loop = FrameLoop(op, count)
    inside = {name: loop.given(one) for name, one in given.items()}
    read, full, written = loop.given(rows), loop.given(filled), [loop.given(one) for one in made]
    before = loop.start([*states, *(one.output(1) for one in made)])
    row = op.TensorArrayReadV3(read, loop.index, full, dtype=kind)
    answers, after = _step(op, cell, inside, loop.index, row.output(0), before[: len(states)])
    flows = [
        op.TensorArrayWriteV3(array, loop.index, answer, flow)
        for array, answer, flow in zip(written, answers, before[len(states) :], strict=True)
    ]
    last = loop.end([*after, *flows])
    ends = zip(made, last[len(states) :], strict=True)
    gathered = [op.TensorArrayGatherV3(array, places, flow, dtype=kind).output(0) for array, flow in ends]
    return gathered, last[: len(states)]


def _step(
    op: NodeBuilder, cell: Cell, inside: Inside, at: Given, row: Value, states: list[Value]
) -> tuple[list[Value], list[Value]]:
    outputs, after = cell(op, inside, row, states)
    if "lengths" not in inside:
        return outputs, after
    live = op.Less(at, inside["lengths"])
    shown = [op.Select(live, output, inside["zeros"]).output(0) for output in outputs]
    kept = [op.Select(live, new, old).output(0) for new, old in zip(after, states, strict=True)]
    return shown, kept


def _value(op: NodeBuilder, given: Given) -> Value:
    if isinstance(given, Node):
        return given.output(0)
    return given if isinstance(given, Value) else op.const(given)
