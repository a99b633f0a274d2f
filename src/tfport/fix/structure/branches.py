"""If and Case as TF1 has them: values that are sent one of two ways, and merged again.

A Case is a tree of such choices, halved at each, so that few are one behind the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfport.fix.structure.conditions import truth
from tfport.fix.structure.function_bodies import Site, gates, pass_on, put
from tfport.fix.structure.functional_ops import is_stateful, parts_of, refs_of, types_of
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import Node, Value

Side = Callable[[Site, list[Value], Node], list[Value]]
"""Makes what runs on one side, of the values sent there and of its pivot; what it answers."""
Inner = list[tuple[Node, Node]]


def lowered_if(node: Node, pivot: Node | None) -> Inner:
    """Put both branches in place of the node; what of them is still to be expanded."""
    site, (then, otherwise) = Site.of(node), refs_of(node)
    waits = gates(node, pivot, is_stateful(parts_of(node)))
    condition = truth(site, node.inputs[0], pivot)
    types = types_of(node)

    def side(ref: FunctionRef, name: str) -> Side:
        return lambda where, given, chosen: put(where, name, ref, given, types, chosen)

    sides = (side(otherwise, "else"), side(then, "then"))
    _hand_on(node, _chosen(site, condition, node.inputs[1:], sides, waits))
    return site.inner


def lowered_case(node: Node, pivot: Node | None) -> Inner:
    """The same for one branch of several; an index that is none of theirs takes the last."""
    site, refs = Site.of(node), refs_of(node)
    types = types_of(node)
    waits = gates(node, pivot, is_stateful(parts_of(node)))

    def tree(first: int, refs: Sequence[FunctionRef]) -> Side:
        def side(where: Site, given: list[Value], chosen: Node) -> list[Value]:
            if len(refs) == 1:
                return put(where, f"branch_{first}", refs[0], given[1:], types, chosen)
            half = len(refs) // 2
            limit = where.constant(first + half, INT32, chosen, "limit")
            below = where.add("Less", [given[0], limit], {"T": INT32}, name="below").output(0)
            sides = (tree(first + half, refs[half:]), tree(first, refs[:half]))
            return _chosen(where.below(f"from_{first}"), below, given, sides, [chosen])

        return side

    start = site.identity(node.inputs[0], "index", waits)
    index = _within(site, start, len(refs) - 1)
    _hand_on(node, tree(0, refs)(site, [index, *node.inputs[1:]], start))
    return site.inner


def _within(site: Site, index: Node, last: int) -> Value:
    """The index, or the last one's for one below 0."""
    zero, end = site.constant(0, INT32, index, "zero"), site.constant(last, INT32, index, "last")
    below = site.add("Less", [index.output(0), zero], {"T": INT32}, name="is_negative").output(0)
    return site.add("Select", [below, end, index.output(0)], {"T": INT32}, name="within").output(0)


def _chosen(
    site: Site, condition: Value, given: Sequence[Value], sides: tuple[Side, Side], waits: Sequence[Node]
) -> list[Value]:
    """What the second side answers where the condition is true, the first where it is not."""
    taken = site.identity(condition, "pred_id", waits).output(0)
    switch = site.add("Switch", [taken, taken], {"T": BOOL}, name="switch")
    sent = [site.add("Switch", [v, taken], {"T": v.dtype.base}, name="sent") for v in given]
    answers = []
    for i, name in enumerate(("switch_f", "switch_t")):
        pivot = site.identity(switch.output(i), name)
        answers.append(sides[i](site, [one.output(i) for one in sent], pivot))
    merged = []
    for pair in zip(*answers, strict=True):
        attrs = {"T": pair[0].dtype.base, "N": 2}
        merged.append(site.add("Merge", pair, attrs, name="merge").output(0))
    for one in sent:
        if not one.users:
            site.graph.remove(one)
    return merged


def _hand_on(node: Node, results: Sequence[Value]) -> None:
    """Results are there when a branch has run; where there are none, one says that it has."""
    pass_on(node, results, [] if types_of(node) else [results[0].node])
