"""Tensors of which a loop writes one row per iteration, in order: these become a scan output of the loop.

TensorFlow Lite has no lists of tensors. Its converter stores a list as one tensor, and an element is set by
joining the rows before it, the new row and the rows after it.
"""

from __future__ import annotations

from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.list_facts import ListChange
from tfport.runtime.ops.control.loop_body import Loop, LoopBody, counts_from
from tfport.runtime.program import Program

_ADDS = ("Add", "AddV2")


def written_row(loop: Loop, body: LoopBody, i: int, count: int) -> ListChange | None:
    """The row that each of `count` iterations writes to a tensor; None unless they write all of its rows.

    All rows are written if they are written in order, or if there is one and each iteration writes it.
    """
    program, start = body.program, loop.initial[i].shape
    joined = program.producer(body.results[i], "ConcatV2")
    if joined is None or len(joined.inputs) != 4 or not start:
        return None
    before, new, after, axis = joined.inputs
    if axis.array is None or int(axis.array) != 0:
        return None
    index = _end_of_first_rows(program, before, body.args[i])
    item = _row_of(program, new)
    if index is None or item is None or not _starts_after(program, after, body.args[i], index):
        return None
    if index.array is not None:
        in_order = start[0] == 1 and int(index.array) == 0
    else:
        at = next((k for k, arg in enumerate(body.args) if arg is index), None)
        in_order = at is not None and counts_from(loop, body, at) == 0 and start[0] == count
    return ListChange(body.args[i], index, item) if in_order else None


def _end_of_first_rows(program: Program, operand: Operand, rows: Operand) -> Operand | None:
    """`i` in `rows[:i]`"""
    step = program.producer(operand, "Slice")
    if step is None or step.inputs[0] is not rows:
        return None
    begin = step.inputs[1].array
    return _first_of(program, step.inputs[2], -1) if begin is not None and not begin.any() else None


def _starts_after(program: Program, operand: Operand, rows: Operand, index: Operand) -> bool:
    """Whether an operand is `rows[index + 1:]`."""
    step = program.producer(operand, "Slice")
    if step is None or step.inputs[0] is not rows:
        return False
    size, begin = step.inputs[2].array, _first_of(program, step.inputs[1], 0)
    if size is None or (size != -1).any() or begin is None:
        return False
    if begin.array is not None and index.array is not None:
        return int(begin.array) == int(index.array) + 1
    added = program.producer(begin, *_ADDS)
    if added is None or index not in added.inputs:
        return False
    return any(o.array is not None and o.array.size == 1 and int(o.array) == 1 for o in added.inputs)


def _first_of(program: Program, vector: Operand, rest: int) -> Operand | None:
    """The first of several numbers, of which all others are `rest`."""
    if vector.array is not None:
        is_first = not (vector.array[1:] != rest).any()
        return Operand(vector.dtype, value=vector.array[:1].reshape(())) if is_first else None
    step = program.producer(vector, "ConcatV2")
    if step is None or len(step.inputs) != 3:
        return None
    first, others = program.producer(step.inputs[0], "Reshape", "ExpandDims"), step.inputs[1].array
    if first is None or first.inputs[0].rank != 0:
        return None
    return None if others is None or (others != rest).any() else first.inputs[0]


def _row_of(program: Program, operand: Operand) -> Operand | None:
    """The operand that is the only row of another one."""
    step = program.producer(operand, "Reshape", "ExpandDims")
    if step is None:
        return None
    row, shape = step.inputs[0], operand.shape
    if step.op == "ExpandDims":
        axis = step.inputs[1].array
        return row if axis is not None and int(axis) == 0 else None
    return row if row.shape is not None and shape == (1, *row.shape) and None not in row.shape else None
