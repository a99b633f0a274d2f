"""Tensors of which a loop writes one row per iteration, in order: these become a scan output of the loop.

TensorFlow Lite has no lists of tensors. Its converter stores a list as one tensor, and an element is set by
joining the rows before it, the new row and the rows after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.list_facts import ListChange
from tfport.runtime.ops.control.loop_body import Loop, LoopBody, counts_from
from tfport.runtime.program import Step

_ADDS = ("Add", "AddV2")
_Producers = Mapping[Operand, Step]


def written_row(loop: Loop, body: LoopBody, i: int, count: int) -> ListChange | None:
    """The row that each of `count` iterations writes to a tensor; None unless they write all of its rows.

    All rows are written if they are written in order, or if there is one and each iteration writes it.
    """
    producers = {output: step for step in body.program.steps for output in step.outputs}
    joined, start = producers.get(body.results[i]), loop.initial[i].shape
    if joined is None or joined.op != "ConcatV2" or len(joined.inputs) != 4 or not start:
        return None
    before, new, after, axis = joined.inputs
    if axis.array is None or int(axis.array) != 0:
        return None
    index = _end_of_first_rows(producers, before, body.args[i])
    item = _row_of(producers, new)
    if index is None or item is None or not _starts_after(producers, after, body.args[i], index):
        return None
    if index.array is not None:
        in_order = start[0] == 1 and int(index.array) == 0
    else:
        at = next((k for k, arg in enumerate(body.args) if arg is index), None)
        in_order = at is not None and counts_from(loop, body, at) == 0 and start[0] == count
    return ListChange(body.args[i], index, item) if in_order else None


def _end_of_first_rows(producers: _Producers, operand: Operand, rows: Operand) -> Operand | None:
    """`i` in `rows[:i]`"""
    step = producers.get(operand)
    if step is None or step.op != "Slice" or step.inputs[0] is not rows:
        return None
    begin = step.inputs[1].array
    return _first_of(producers, step.inputs[2], -1) if begin is not None and not begin.any() else None


def _starts_after(producers: _Producers, operand: Operand, rows: Operand, index: Operand) -> bool:
    """Whether an operand is `rows[index + 1:]`."""
    step = producers.get(operand)
    if step is None or step.op != "Slice" or step.inputs[0] is not rows:
        return False
    size, begin = step.inputs[2].array, _first_of(producers, step.inputs[1], 0)
    if size is None or (size != -1).any() or begin is None:
        return False
    if begin.array is not None and index.array is not None:
        return int(begin.array) == int(index.array) + 1
    added = producers.get(begin)
    if added is None or added.op not in _ADDS or index not in added.inputs:
        return False
    return any(o.array is not None and o.array.size == 1 and int(o.array) == 1 for o in added.inputs)


def _first_of(producers: _Producers, vector: Operand, rest: int) -> Operand | None:
    """The first of several numbers, of which all others are `rest`."""
    if vector.array is not None:
        is_first = not (vector.array[1:] != rest).any()
        return Operand(vector.dtype, value=vector.array[:1].reshape(())) if is_first else None
    step = producers.get(vector)
    if step is None or step.op != "ConcatV2" or len(step.inputs) != 3:
        return None
    first, others = producers.get(step.inputs[0]), step.inputs[1].array
    if first is None or first.op not in ("Reshape", "ExpandDims") or first.inputs[0].rank != 0:
        return None
    return None if others is None or (others != rest).any() else first.inputs[0]


def _row_of(producers: _Producers, operand: Operand) -> Operand | None:
    """The operand that is the only row of another one."""
    step = producers.get(operand)
    if step is None or step.op not in ("Reshape", "ExpandDims"):
        return None
    row, shape = step.inputs[0], operand.shape
    if step.op == "ExpandDims":
        axis = step.inputs[1].array
        return row if axis is not None and int(axis) == 0 else None
    return row if row.shape is not None and shape == (1, *row.shape) and None not in row.shape else None
