"""Lower If and Case to Switch and Merge: values are sent to one of two branches, and merged again.

A Case becomes a balanced binary tree of branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.fix.structure.conditions import as_condition
from tfport.fix.structure.function_bodies import Site, forward_results, gates, insert_body
from tfport.fix.structure.functional_ops import is_stateful, parts_of, refs_of, types_of
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import Node, Value

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
