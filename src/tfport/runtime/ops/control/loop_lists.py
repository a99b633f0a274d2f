"""Lists that gain one element in each turn of a loop: their elements are handed out turn by turn."""

from __future__ import annotations

from dataclasses import replace

from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.list_facts import Change, ListFacts
from tfport.runtime.ops.control.loop_body import Body, Loop, counts_from
from tfport.runtime.ops.control.traced_lists import last_row, list_of, rows_of
from tfport.runtime.trace import Tracer


def handed_out(tracer: Tracer, loop: Loop, body: Body, i: int) -> Change | None:
    """How a variable that is a list gains the next element in each turn, if it does just that."""
    before, after = tracer.lists.get(loop.initial[i]), tracer.lists.get(body.results[i])
    if before is None or after is None or after.change is None or before.head is None:
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
    if _is_always_the_only(change, before):
        return change
    if change.index not in body.args:
        return None
    return change if counts_from(loop, body, body.args.index(change.index)) == len(before.head) else None


def _is_always_the_only(change: Change, before: ListFacts) -> bool:
    """Whether each turn sets the one element of a list again, so that the last turn's stays."""
    if before.head != () or before.size is None or change.index is None:
        return False
    size, index = before.size.array, change.index.array
    return size is not None and index is not None and (int(size), int(index)) == (1, 0)


def _is_full(shape: Dims | None) -> bool:
    return shape is not None and None not in shape


def list_behind(tracer: Tracer, name: str, facts: ListFacts, change: Change, rows: Operand) -> Operand:
    """The list that a loop leaves: what was set before it, what it handed out, and what is still unset."""
    if _is_always_the_only(change, facts):
        stacked = last_row(tracer, name, rows)
    else:
        stacked = rows_of(tracer, name, facts, rows, grows=change.grows)
    return list_of(tracer, name, replace(facts, stacked=stacked, head=None, size=None, change=None))
