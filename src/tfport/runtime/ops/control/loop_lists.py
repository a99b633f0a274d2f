"""Lists that gain one element per iteration, from either end: these become a scan output of the loop."""

from __future__ import annotations

from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.list_facts import ListChange, ListFacts
from tfport.runtime.ops.control.loop_body import Loop, LoopBody, counts_from, falls
from tfport.runtime.ops.control.tensor_list_structures import is_before_tail
from tfport.runtime.ops.control.traced_lists import all_rows, last_row, list_from_rows
from tfport.runtime.trace import Tracer
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
    after = replace(facts, stacked=stacked, head=None, tail=(), size=None, change=None)
    return list_from_rows(tracer, name, after)
