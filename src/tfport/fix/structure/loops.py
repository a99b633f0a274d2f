"""Lower While to a TF1 loop: variables enter a frame, are updated in each iteration, and exit.

A variable that the body returns unchanged enters as a constant.
"""

from __future__ import annotations

from tfport.fix.structure.conditions import as_condition
from tfport.fix.structure.function_bodies import Site, forward_results, gates, insert_body
from tfport.fix.structure.functional_ops import is_stateful, parts_of, refs_of
from tfport.graph.dtypes import RESOURCE
from tfport.graph.frame_loop import free_frame_name
from tfport.graph.graph import Function, Node, Value
from tfport.graph.shapes import Shape

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
    _return_results(site, node, exits, stateful)
    return site.inner


def _carried(body: Function) -> list[int]:
    """The variables that an iteration may change; if it changes none, the first that is a tensor."""
    passed = body.arguments
    fixed = {i for i, value in enumerate(body.results) if _origin(value) is passed[i]}
    varying = [i for i in range(len(passed)) if i not in fixed]
    return varying or [next((i for i, v in enumerate(passed) if v.dtype != RESOURCE), 0)]


def _origin(value: Value) -> Value:
    """The value before any Identity nodes."""
    while value.node.op == "Identity" and value.node.inputs:
        value = value.node.inputs[0]
    return value


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


def _return_results(site: Site, node: Node, exits: dict[int, Value], stateful: bool) -> None:
    """Return the results; unchanged variables come from before a loop without effects."""
    left = next(iter(exits.values())).node
    results = []
    for i, value in enumerate(node.inputs):
        if i in exits:
            results.append(exits[i])
        else:
            results.append(site.identity(value, "after", [left]).output(0) if stateful else value)
    forward_results(node, results, [left])
