"""Lower functional branches and loops to the control flow nodes of TF1.

A node keeps its name and returns the results. Everything that its functions call is inlined
too. A node that cannot be lowered is refused before anything changes.
If becomes Switch and Merge: values are sent to one of two branches, and merged again; a Case becomes a
balanced binary tree of branches. The variables of a While enter a frame, are updated in each iteration, and
exit; one that the body returns unchanged enters as a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.fix.structure.function_bodies import (
    Site,
    drop_lost_colocations,
    expand,
    forward_results,
    gates,
    insert_body,
)
from tfport.fix.structure.functional_ops import (
    StructureRefusal,
    can_be_lowered,
    is_stateful,
    parts_of,
    refs_of,
    types_of,
)
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import BOOL, INT32, RESOURCE, STRING
from tfport.graph.frame_loop import free_frame_name
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.op_facts.kinds import (
    ALL_SWITCHES,
    CASES,
    ELEMENTWISE,
    ENTERS,
    EXITS,
    FUNCTIONAL,
    IFS,
    MERGES,
    NEXTS,
    WHILES,
)
from tfport.graph.shapes import Shape

Side = Callable[[Site, list[Value], Node], list[Value]]
"""Adds the nodes of one side from its values and its pivot; returns the results."""
Inner = list[tuple[Node, Node]]


def lowered_if(node: Node, pivot: Node | None) -> Inner:
    """Replace an If by both branches; returns their nodes that must still be expanded."""
    site, (then, otherwise) = Site.of(node), refs_of(node)
    waits = gates(node, pivot, is_stateful(parts_of(node)))
    condition = as_condition(site, node.inputs[0], pivot)
    types = types_of(node)

    def side(ref: FunctionRef, name: str) -> Side:
        return lambda where, values, chosen: insert_body(where, name, ref, values, types, chosen)

    sides = (side(otherwise, "else"), side(then, "then"))
    _return_results(node, _chosen(site, condition, node.inputs[1:], sides, waits))
    return site.inner


def lowered_case(node: Node, pivot: Node | None) -> Inner:
    """Replace a Case by its branches; an index out of range selects the last one."""
    site, refs = Site.of(node), refs_of(node)
    types = types_of(node)
    waits = gates(node, pivot, is_stateful(parts_of(node)))

    def tree(first: int, refs: Sequence[FunctionRef]) -> Side:
        def side(where: Site, values: list[Value], chosen: Node) -> list[Value]:
            if len(refs) == 1:
                return insert_body(where, f"branch_{first}", refs[0], values[1:], types, chosen)
            half = len(refs) // 2
            limit = where.constant(first + half, INT32, chosen, "limit")
            below = where.add("Less", [values[0], limit], {"T": INT32}, name="below").output(0)
            sides = (tree(first + half, refs[half:]), tree(first, refs[:half]))
            return _chosen(where.below(f"from_{first}"), below, values, sides, [chosen])

        return side

    start = site.identity(node.inputs[0], "index", waits)
    index = _within(site, start, len(refs) - 1)
    _return_results(node, tree(0, refs)(site, [index, *node.inputs[1:]], start))
    return site.inner


def _within(site: Site, index: Node, last: int) -> Value:
    """The index, or that of the last branch for a negative index."""
    zero, end = site.constant(0, INT32, index, "zero"), site.constant(last, INT32, index, "last")
    below = site.add("Less", [index.output(0), zero], {"T": INT32}, name="is_negative").output(0)
    return site.add("Select", [below, end, index.output(0)], {"T": INT32}, name="within").output(0)


def _chosen(
    site: Site, condition: Value, values: Sequence[Value], sides: tuple[Side, Side], waits: Sequence[Node]
) -> list[Value]:
    """The results of the second side if the condition is true, else of the first."""
    taken = site.identity(condition, "pred_id", waits).output(0)
    switch = site.add("Switch", [taken, taken], {"T": BOOL}, name="switch")
    sent = [site.add("Switch", [v, taken], {"T": v.dtype.base}, name="sent") for v in values]
    answers = []
    for i, name in enumerate(("switch_f", "switch_t")):
        pivot = site.identity(switch.output(i), name)
        answers.append(sides[i](site, [switch_node.output(i) for switch_node in sent], pivot))
    merged = []
    for pair in zip(*answers, strict=True):
        attrs = {"T": pair[0].dtype.base, "N": 2}
        merged.append(site.add("Merge", pair, attrs, name="merge").output(0))
    for switch_node in sent:
        if not switch_node.users:
            site.graph.remove(switch_node)
    return merged


def _return_results(node: Node, results: Sequence[Value]) -> None:
    """Return the results; without any, wait for the merged value that shows that a branch has run."""
    forward_results(node, results, [] if types_of(node) else [results[0].node])


# Loops.

_SCALAR = Shape(())


def lowered_while(node: Node, pivot: Node | None) -> list[tuple[Node, Node]]:
    """Replace a While by its condition and body; returns their nodes that must still be expanded."""
    site, (condition, body) = Site.of(node), refs_of(node)
    stateful = is_stateful(parts_of(node))
    carried = _carried(parts_of(node)[1])
    waits = gates(node, pivot, stateful)
    enters = _enters(site, node, carried, waits)
    merges = _merges(site, node, carried, enters)
    types = [value.dtype.base for value in node.inputs]

    start = merges[carried[0]]
    seen = [merges.get(i, enter).output(0) for i, enter in enumerate(enters)]
    asked = [value.dtype.base for value in parts_of(node)[0].results]
    (decision,) = insert_body(site, "cond", condition, seen, asked, start)
    continues = site.add("LoopCond", [as_condition(site, decision, start)], name="loop_cond").output(0)

    switches = {i: _switch(site, merges[i].output(0), continues) for i in carried}
    inside = {i: site.identity(switches[i].output(1), "turn") for i in carried}
    values = [inside.get(i, enter).output(0) for i, enter in enumerate(enters)]
    results = insert_body(site, "body", body, values, types, inside[carried[0]])
    exits: dict[int, Value] = {}
    for i in carried:
        attrs = {"T": types[i]}
        following = site.add("NextIteration", [results[i]], attrs, name="next")
        merges[i].set_inputs([enters[i].output(0), following.output(0)])
        exits[i] = site.add("Exit", [switches[i].output(0)], attrs, name="exit").output(0)
    for i, result in enumerate(results):
        if i not in exits:
            site.graph.remove(result.node)
    for enter in enters:
        if not enter.users:
            site.graph.remove(enter)
    _return_loop_results(site, node, exits, stateful)
    return site.inner


def _carried(body: Function) -> list[int]:
    """The variables that an iteration may change; if it changes none, the first that is a tensor."""
    passed = body.arguments
    fixed = {i for i, value in enumerate(body.results) if value.source() is passed[i]}
    varying = [i for i in range(len(passed)) if i not in fixed]
    return varying or [next((i for i, v in enumerate(passed) if v.dtype != RESOURCE), 0)]


def _enters(site: Site, node: Node, carried: list[int], waits: list[Node]) -> list[Node]:
    frame, most = free_frame_name(site.graph, node.name), node.attrs.get("parallel_iterations", 10)
    return [
        site.add(
            "Enter",
            [value],
            {
                "T": value.dtype.base,
                "frame_name": frame,
                "is_constant": i not in carried,
                "parallel_iterations": most,
            },
            name="enter",
            controls=waits,
        )
        for i, value in enumerate(node.inputs)
    ]


def _merges(site: Site, node: Node, carried: list[int], enters: list[Node]) -> dict[int, Node]:
    """The variables at the start of an iteration; the second input, from the previous one, is set later."""
    shapes = node.attrs.get("output_shapes")
    known = shapes if isinstance(shapes, list) and len(shapes) == len(enters) else None
    merges = {}
    for i in carried:
        start = enters[i].output(0)
        attrs = {"T": start.dtype.base, "N": 2}
        if known is not None:
            attrs["_output_shapes"] = [known[i], _SCALAR]
        merges[i] = site.add("Merge", [start, start], attrs, name="merge")
    return merges


def _switch(site: Site, value: Value, condition: Value) -> Node:
    return site.add("Switch", [value, condition], {"T": value.dtype.base}, name="switch")


def _return_loop_results(site: Site, node: Node, exits: dict[int, Value], stateful: bool) -> None:
    """Return the results; unchanged variables come from before a loop without effects."""
    left = next(iter(exits.values())).node
    results = []
    for i, value in enumerate(node.inputs):
        if i in exits:
            results.append(exits[i])
        else:
            results.append(site.identity(value, "after", [left]).output(0) if stateful else value)
    forward_results(node, results, [left])


_LOWERED = {
    **dict.fromkeys(IFS, lowered_if),
    **dict.fromkeys(CASES, lowered_case),
    **dict.fromkeys(WHILES, lowered_while),
}


def lower_if(node: Node) -> None:
    """Lower If and StatelessIf to Switch and Merge."""
    _lower(node, IFS)


def lower_case(node: Node) -> None:
    """Lower Case and StatelessCase to Switch and Merge."""
    _lower(node, CASES)


def lower_while(node: Node) -> None:
    """Lower While and StatelessWhile to Enter, Merge, LoopCond, Switch, NextIteration and Exit."""
    _lower(node, WHILES)


def lower(node: Node) -> None:
    """Lower a branch or a loop."""
    _lower(node, FUNCTIONAL)


def lower_all(graph: Graph) -> int:
    """Lower every branch and loop of a graph; returns their number."""
    functional = [node for node in graph if node.op in FUNCTIONAL]
    for node in functional:
        can_be_lowered(node)
    for node in functional:
        _expand(node)
    drop_lost_colocations(graph)
    return len(functional)


def _lower(node: Node, ops: tuple[str, ...]) -> None:
    if node.op not in ops:
        raise StructureRefusal(f"`{node.name}` is {node.op or 'missing'}, not {ops[0]}")
    can_be_lowered(node)
    _expand(node)
    drop_lost_colocations(node.graph)


def _expand(node: Node) -> None:
    waiting = list(_LOWERED[node.op](node, None))
    while waiting:
        inner, pivot = waiting.pop()
        if inner.op in _LOWERED:
            waiting += _LOWERED[inner.op](inner, pivot)
        else:
            expand(inner, pivot, waiting)
        if not inner.users:
            inner.graph.remove(inner)


# The condition of a branch or loop.

_SAME_RANK = ELEMENTWISE.union(EXITS, NEXTS)
_SCALARS = frozenset(["Size", "Rank", "TensorListLength", "TensorArraySizeV3", "LoopCond"])
_MOST = 200
"""The most nodes to visit to find out whether a condition is a scalar."""


def as_condition(site: Site, value: Value, pivot: Node | None) -> Value:
    """A scalar bool for the truth of a value, which Switch needs; constants wait for the pivot, or the value.

    A number is true unless it is 0, a string unless it is empty, and any other tensor if it has elements.
    A value that is known to be a scalar bool stays as it is.
    """
    near = pivot or value.node
    scalar = is_scalar(value)
    if value.dtype.base == BOOL and scalar:
        return value
    if value.dtype.base == BOOL:
        is_set = value
    else:
        blank = site.constant(b"" if value.dtype.base == STRING else 0, value.dtype.base, near, "blank")
        is_set = site.add("NotEqual", [value, blank], {"T": value.dtype.base}, name="is_set").output(0)
    return is_set if scalar else _of_any_rank(site, value, is_set, near)


def _of_any_rank(site: Site, value: Value, is_set: Value, near: Node) -> Value:
    """`size > 0 and (rank > 0 or any element is set)`."""
    attrs = {"T": value.dtype.base}
    zero, step = (site.constant(n, INT32, near) for n in (0, 1))
    rank = site.add("Rank", [value], attrs, name="rank").output(0)
    size = site.add("Size", [value], {**attrs, "out_type": INT32}, name="size").output(0)
    axes = site.add("Range", [zero, rank, step], {"Tidx": INT32}, name="axes").output(0)
    some = site.add("Any", [is_set, axes], {"keep_dims": False, "Tidx": INT32}, name="any").output(0)
    ranked = site.add("Greater", [rank, zero], {"T": INT32}, name="has_rank").output(0)
    filled = site.add("Greater", [size, zero], {"T": INT32}, name="has_elements").output(0)
    either = site.add("LogicalOr", [ranked, some], name="ranked_or_set").output(0)
    return site.add("LogicalAnd", [filled, either], name="truth").output(0)


def is_scalar(value: Value) -> bool:
    """Whether a value is known to be a scalar."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        source = stack.pop()
        if source in seen:
            continue
        seen.add(source)
        rank, op = source.shape.rank, source.node.op
        if rank == 0 or op in _SCALARS:
            continue
        if rank is not None or len(seen) > _MOST:
            return False
        if op in _SAME_RANK or op in ALL_SWITCHES:
            stack += source.node.inputs[:1] if op in ALL_SWITCHES else source.node.inputs
        elif op in ENTERS or (
            op in MERGES and source.index == 0 and "_output_shapes" not in source.node.attrs
        ):
            stack += source.node.inputs
        elif not (op in MERGES and source.index == 1):
            return False
    return True
