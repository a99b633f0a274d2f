"""Lists that gain one element per iteration, from either end: these become a scan output of the loop.

TensorFlow Lite has no lists of tensors. Its converter stores a list as one tensor, and an element is set by
joining the rows before it, the new row and the rows after it. A tensor of which a loop writes one row per
iteration, in order, becomes a scan output too.
"""

from __future__ import annotations

from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.loop_body import Loop, LoopBody, counts_from, falls
from tfport.runtime.ops.control.tensor_list_structures import is_before_tail
from tfport.runtime.ops.control.traced_lists import all_rows, last_row, list_from_rows
from tfport.runtime.program import Program
from tfport.runtime.trace import Tracer
from tfport.runtime.value_facts import ListChange, ListFacts
from tfport.startup.dataclass import replace


def appending_change(tracer: Tracer, loop: Loop, body: LoopBody, i: int) -> ListChange | None:
    """The change by which a list gains its next element in each iteration; None for any other change."""
    before, after = tracer.lists.get(loop.initial[i]), tracer.lists.get(body.results[i])
    if before is None or after is None or after.change is None or (before.head is None and not before.tail):
        return None
    change = after.change
    if change.base is not body.args[i]:
        return None
    if not (loop.stackable[i] or _is_full(change.item.shape) or _is_full(before.shape)):
        return None
    if change.index is None:
        return change if before.size is None else None
    if before.size is None:
        return None
    if _overwrites_only_element(change, before):
        return change
    if change.index not in body.args:
        return None
    at = body.args.index(change.index)
    if before.head is not None and counts_from(loop, body, at) == len(before.head):
        return change
    from_end = falls(body, at) and is_before_tail(tracer, loop.initial[at], before)
    return replace(change, falls=True) if from_end else None


def _overwrites_only_element(change: ListChange, before: ListFacts) -> bool:
    """Whether each iteration overwrites the only element of a list, so the last one remains."""
    if before.head != () or before.size is None or change.index is None:
        return False
    size, index = before.size.array, change.index.array
    return size is not None and index is not None and (int(size), int(index)) == (1, 0)


def _is_full(shape: Dims | None) -> bool:
    return shape is not None and None not in shape


def rows_after_loop(tracer: Tracer, loop: Loop, i: int, change: ListChange, rows: Operand) -> Operand:
    """A list or tensor after a loop that added the rows to it; of a tensor, all rows were written."""
    facts = tracer.lists.get(loop.initial[i])
    if facts is not None:
        return _list_after_loop(tracer, loop.name, facts, change, rows)
    is_one_row = change.index is not None and change.index.array is not None
    return last_row(tracer, loop.name, rows) if is_one_row else rows


def _list_after_loop(
    tracer: Tracer, name: str, facts: ListFacts, change: ListChange, rows: Operand
) -> Operand:
    """The list after a loop: the elements set before, those of the iterations, and the unset rest."""
    if _overwrites_only_element(change, facts):
        stacked = last_row(tracer, name, rows)
    else:
        stacked = all_rows(tracer, name, facts, rows, grows=change.grows, falls=change.falls)
    only = None if facts.head or facts.tail else rows
    after = replace(facts, stacked=stacked, head=None, tail=(), size=None, change=None, set_rows=only)
    return list_from_rows(tracer, name, after)


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
