"""Whether a list can become an array that is changed in place, and the order that this needs.

A list is a value: each change makes a new version, and the old version can still be read or
changed differently. A TensorArray has only its latest content, and each element is written once.
So each version may be changed only once, and all other readers must run before that.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.list_groups import (
    ALIASES,
    CHANGES,
    READS,
    ListGroup,
    is_invariant,
    pass_through_outputs,
)
from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.kinds import ENTERS, EXITS, MERGES

Waits = list[tuple[Node, Node]]
"""Pairs of nodes: the first has to wait for the second."""


def waits_of(group: ListGroup) -> Waits:
    """The order that in-place changes need; refuses if no order is sufficient."""
    if len(group.makers) > 1:
        others = ", ".join(f"`{maker.name}`" for maker in group.makers[:2])
        raise StructureRefusal(f"a list may come from {others}; an array has one origin")
    _stays_in_its_loop(group)
    changed = _changed_later(group)
    waits: Waits = []
    for value in group.values:
        if value.node.op not in ALIASES:
            waits += _waits_for(value, changed)
    for change in group.changes:
        _is_written_once(change)
    return waits


def _changed_later(group: ListGroup) -> set[Value]:
    """The values whose list is changed later, with only pass-through nodes in between."""
    changed = {change.inputs[0] for change in group.changes}
    values, pass_through = set(group.values), set(group.pass_through)
    stack = list(changed)
    while stack:
        value = stack.pop()
        node = value.node
        if node in pass_through:
            before = [v for v in node.inputs if value in pass_through_outputs(node, v) and v in values]
            stack += [v for v in before if v not in changed]
            changed.update(before)
    return changed


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
        raise StructureRefusal(f"each iteration of a loop changes the original list `{value}`")
    first: Waits = []
    for user in users:
        if user is not changing[0]:
            first += _before(changing[0], user, value)
    return first


def _before(change: Node, user: Node, value: Value) -> Waits:
    """The dependency that makes a reader of a version run before its change; refuses if there is none."""
    reads = [user] if user.op in READS else _reads_behind(user)
    if all(_needs(change, read) for read in reads):
        return []
    if user.op not in READS or change.op in MERGES or _needs(user, change):
        raise StructureRefusal(
            f"`{reads[0].name}` reads the list `{value}`, which `{change.name}` may change before"
        )
    return [(change, user)]


def _users(value: Value) -> Iterator[Node]:
    """The readers of a value, directly or through Identity nodes."""
    for user in value.uses:
        if user.op in ALIASES:
            for same in pass_through_outputs(user, value):
                yield from _users(same)
        else:
            yield user


def _leads_on(user: Node, value: Value, changed: set[Value]) -> bool:
    if user.op in CHANGES:
        return True
    return user.op not in READS and any(o in changed for o in pass_through_outputs(user, value))


def _reads_behind(user: Node) -> list[Node]:
    """The nodes that read or change a list that a node passes on."""
    nodes: dict[Node, None] = {}
    seen: set[Value] = set()
    stack = list(user.outputs)
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        for after in value.uses:
            if after.op in READS or after.op in CHANGES:
                nodes[after] = None
            else:
                stack += pass_through_outputs(after, value)
    return list(nodes)


def _needs(node: Node, other: Node) -> bool:
    """Whether a node depends on another within one iteration of a loop."""
    seen = {node}
    stack = [node]
    while stack:
        current = stack.pop()
        if current is other:
            return True
        inputs = current.inputs[:1] if current.op in MERGES and _is_of_loop(current) else current.inputs
        for before in (*(value.node for value in inputs), *current.controls):
            if before not in seen:
                seen.add(before)
                stack.append(before)
    return False


def _is_of_loop(merge: Node) -> bool:
    return any(value.node.op == "NextIteration" for value in merge.inputs[1:])


def _is_written_once(change: Node) -> None:
    """Refuse a loop that sets the same element in each iteration: an array does not allow that."""
    if change.op != "TensorListSetItem" or not is_invariant(change.inputs[1]):
        return
    seen: set[Value] = set()
    stack = [change.output(0)]
    while stack:
        value = stack.pop()
        for user in value.uses:
            if user is change:
                raise StructureRefusal(f"`{change.name}` sets the same element in each iteration of a loop")
            after = [user.output(0)] if user.op in CHANGES else pass_through_outputs(user, value)
            for version in after if user.op not in READS else []:
                if version not in seen:
                    seen.add(version)
                    stack.append(version)


def _stays_in_its_loop(group: ListGroup) -> None:
    """Refuse a list that is created inside a loop and read after it: an array cannot leave the loop."""
    depth = {group.makers[0].output(0): 0}
    stack = list(depth)
    while stack:
        value = stack.pop()
        for user in value.uses:
            after = [user.output(0)] if user.op in CHANGES else pass_through_outputs(user, value)
            level = depth[value] + (user.op in ENTERS) - (user.op in EXITS)
            if level < 0:
                raise StructureRefusal(f"`{user.name}` takes the list of `{group.name}` out of its loop")
            for version in after if user.op not in READS else []:
                if version not in depth:
                    depth[version] = level
                    stack.append(version)
