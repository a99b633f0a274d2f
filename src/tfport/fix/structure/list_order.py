"""May a list be an array that is changed in place?

A list is a value: each change makes another, and the one before can still be read or changed
in a second way. A TensorArray has only what was written last, and takes each element once.
So every version may be changed in one way only, and whoever else reads it has to be first.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.fix.structure.function_bodies import ENTERS, MERGES
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.list_groups import (
    ALIASES,
    CHANGES,
    EXITS,
    READS,
    ListGroup,
    handed_on,
    is_invariant,
)
from tfport.graph.graph import Node, Value

Waits = list[tuple[Node, Node]]
"""Who has to wait for whom."""


def waits_of(group: ListGroup) -> Waits:
    """The order that in-place changes need, or the reason why no order is enough."""
    if len(group.makers) > 1:
        others = ", ".join(f"`{maker.name}`" for maker in group.makers[:2])
        raise StructureRefusal(f"a list may be that of {others}, and an array is one only")
    _leaves_only_what_it_entered(group)
    changed = _changed_later(group)
    waits: Waits = []
    for value in group.values:
        if value.node.op not in ALIASES:
            waits += _waits_for(value, changed)
    for change in group.changes:
        _is_no_second_time(change)
    return waits


def _changed_later(group: ListGroup) -> set[Value]:
    """The values whose list some change behind them is made of, with nothing but handing on between."""
    found = {change.inputs[0] for change in group.changes}
    values, hands_on = set(group.values), set(group.hands_on)
    stack = list(found)
    while stack:
        value = stack.pop()
        node = value.node
        if node in hands_on:
            before = [v for v in node.inputs if value in handed_on(node, v) and v in values]
            stack += [v for v in before if v not in found]
            found.update(before)
    return found


def _waits_for(value: Value, changed: set[Value]) -> Waits:
    users = list(dict.fromkeys(_users(value)))
    changing = [user for user in users if _leads_on(user, value, changed)]
    if len(changing) > 1:
        raise StructureRefusal(
            f"`{changing[0].name}` and `{changing[1].name}` both change the list `{value}`"
        )
    if not changing:
        return []
    if value.node.op in ENTERS and value.node.attrs.get("is_constant") is True:
        raise StructureRefusal(f"each turn of a loop changes the list `{value}` anew")
    first: Waits = []
    for user in users:
        if user is not changing[0]:
            first += _before(changing[0], user, value)
    return first


def _before(change: Node, user: Node, value: Value) -> Waits:
    """What makes a reader of a version come before the change of it; a reason where nothing does."""
    reads = [user] if user.op in READS else _reads_behind(user)
    if all(_needs(change, read) for read in reads):
        return []
    if user.op not in READS or change.op in MERGES or _needs(user, change):
        raise StructureRefusal(
            f"`{reads[0].name}` reads the list `{value}`, which `{change.name}` changes meanwhile"
        )
    return [(change, user)]


def _users(value: Value) -> Iterator[Node]:
    """Who reads a value, directly or through nodes that only rename it."""
    for user in value.uses:
        if user.op in ALIASES:
            for same in handed_on(user, value):
                yield from _users(same)
        else:
            yield user


def _leads_on(user: Node, value: Value, changed: set[Value]) -> bool:
    if user.op in CHANGES:
        return True
    return user.op not in READS and any(o in changed for o in handed_on(user, value))


def _reads_behind(user: Node) -> list[Node]:
    """What reads or changes a list that a node hands on."""
    found: dict[Node, None] = {}
    seen: set[Value] = set()
    stack = list(user.outputs)
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        for after in one.uses:
            if after.op in READS or after.op in CHANGES:
                found[after] = None
            else:
                stack += handed_on(after, one)
    return list(found)


def _needs(node: Node, other: Node) -> bool:
    """Whether one node runs behind another in each turn; what leads back to the next turn does not count."""
    seen = {node}
    stack = [node]
    while stack:
        one = stack.pop()
        if one is other:
            return True
        inputs = one.inputs[:1] if one.op in MERGES and _turns(one) else one.inputs
        for before in (*(value.node for value in inputs), *one.controls):
            if before not in seen:
                seen.add(before)
                stack.append(before)
    return False


def _turns(merge: Node) -> bool:
    return any(value.node.op == "NextIteration" for value in merge.inputs[1:])


def _is_no_second_time(change: Node) -> None:
    """A turn that sets the element which the turn before has set needs a list."""
    if change.op != "TensorListSetItem" or not is_invariant(change.inputs[1]):
        return
    seen: set[Value] = set()
    stack = [change.output(0)]
    while stack:
        value = stack.pop()
        for user in value.uses:
            if user is change:
                raise StructureRefusal(f"`{change.name}` sets the same element in each turn of a loop")
            after = [user.output(0)] if user.op in CHANGES else handed_on(user, value)
            for one in after if user.op not in READS else []:
                if one not in seen:
                    seen.add(one)
                    stack.append(one)


def _leaves_only_what_it_entered(group: ListGroup) -> None:
    """A list that is made in a turn of a loop cannot be read behind the loop as an array."""
    depth = {group.makers[0].output(0): 0}
    stack = list(depth)
    while stack:
        value = stack.pop()
        for user in value.uses:
            after = [user.output(0)] if user.op in CHANGES else handed_on(user, value)
            level = depth[value] + (user.op in ENTERS) - (user.op in EXITS)
            if level < 0:
                raise StructureRefusal(f"`{user.name}` takes the list of `{group.name}` out of its loop")
            for one in after if user.op not in READS else []:
                if one not in depth:
                    depth[one] = level
                    stack.append(one)
