"""Remove pairs of transpositions that cancel each other, also across elementwise ops.

A transposition before an elementwise op can be moved behind it. So each is moved towards the
outputs, and where it meets its inverse, both are removed. Named nodes keep their names and values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.constants import Order, constant, inverse, permutation
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.op_facts.kinds import ELEMENTWISE
from tfport.graph.reach import in_order
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


def cancel_transposes(graph: Graph, named: Collection[str] = ()) -> list[str]:
    """Remove pairs that cancel each other; returns the removed Transposes. `named` nodes stay."""
    before = _transposes(graph)
    kept = {*named, *(node.name for node in graph if not node.users)}
    for node in in_order(graph):
        if node.op == "Transpose":
            _meet(node)
        elif node.op in MOVED:
            _move_behind(graph, node, kept)
    _cancelled_to_identities(graph, kept)
    _drop_unread(graph, kept)
    now = set(_transposes(graph))
    return [name for name in before if name not in now]


def _transposes(graph: Graph) -> list[str]:
    return [node.name for node in graph if node.op == "Transpose"]


def _meet(node: Node) -> None:
    """Let readers of a transposition that cancels another read the value before both."""
    if (start := _undone(node)) is not None:
        node.output(0).replace_by(start)


def _undone(node: Node) -> Value | None:
    """The value before a transposition and the one that it cancels, if it cancels one."""
    before, own = node.inputs[0], permutation(node.output(0))
    if own is None or permutation(before) != inverse(own) or node.controls:
        return None
    return before.node.inputs[0]


def _cancelled_to_identities(graph: Graph, kept: Collection[str]) -> None:
    """Turn named transpositions that cancel another into an Identity of the value before both."""
    for node in graph:
        if node.op == "Transpose" and node.name in kept and (start := _undone(node)) is not None:
            node.become("Identity", {"T": start.dtype.base})
            node.set_inputs([start])


def _move_behind(graph: Graph, node: Node, kept: Collection[str]) -> None:
    """Apply an op before the transposition of its inputs, and transpose its output."""
    sources = [value for value in node.inputs if permutation(value) is not None]
    orders = {permutation(value) for value in sources}
    if len(orders) != 1 or (order := orders.pop()) is None:
        return
    if node.is_stateful or any(_is_needed(value.node, node, kept) for value in sources):
        return
    inputs = MOVED[node.op](graph, node, order)
    if inputs is None:
        return
    moved = graph.add(node.op, inputs, _without_shapes(node), name=node.name, device=node.device)
    moved.set_controls(node.controls)
    axes, dtype = sources[0].node.inputs[1], node.output(0).dtype.base
    shapes = {k: v for k, v in node.attrs.items() if k == "_output_shapes"}
    node.become("Transpose", {"T": dtype, "Tperm": axes.dtype.base, **shapes})
    node.set_inputs([moved.output(0), axes])


def _is_needed(transposed: Node, by: Node, kept: Collection[str]) -> bool:
    """Whether another node needs the transposed value too, so that the transposition must stay."""
    for user in transposed.users:
        if user.op == "Transpose":
            _meet(user)
        is_removed = user.op == "Transpose" and not user.users and user.name not in kept
        if user is not by and not is_removed:
            return True
    return transposed.name in kept


def _without_shapes(node: Node) -> dict[str, Any]:
    return {name: value for name, value in node.attrs.items() if name != "_output_shapes"}


def _elementwise(graph: Graph, node: Node, order: Order) -> list[Value] | None:
    """The inputs before transposition; constants are transposed inversely at once."""
    inputs = []
    for value in node.inputs:
        if permutation(value) is not None:
            inputs.append(value.node.inputs[0])
        elif (known := constant(value)) is None or known.shape.rank not in (0, len(order)):
            return None
        elif known.shape.rank == 0:
            inputs.append(value)
        else:
            inputs.append(_const(graph, value, known.numpy().transpose(inverse(order)), known.dtype))
    return inputs


def _joined(graph: Graph, node: Node, order: Order) -> list[Value] | None:
    """The inputs of ConcatV2, with the axis before transposition."""
    *parts, axis = node.inputs
    known = constant(axis)
    if known is None or any(permutation(value) is None for value in parts):
        return None
    at = order[int(known.numpy())]
    return [*(value.node.inputs[0] for value in parts), _const(graph, axis, np.array(at), known.dtype)]


def _padded(graph: Graph, node: Node, order: Order) -> list[Value] | None:
    """The inputs of Pad, PadV2 and MirrorPad, with the paddings in the order before transposition."""
    image, paddings, *rest = node.inputs
    known = constant(paddings)
    if known is None or permutation(image) is None:
        return None
    amounts = known.numpy()[list(inverse(order))]
    return [image.node.inputs[0], _const(graph, paddings, amounts, known.dtype), *rest]


MOVED: dict[str, Callable[[Graph, Node, Order], list[Value] | None]] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    "ConcatV2": _joined,
    "MirrorPad": _padded,
    "Pad": _padded,
    "PadV2": _padded,
}
"""Ops that a transposition can be moved behind, and how to compute their inputs for that."""


def _const(graph: Graph, like: Value, array: NDArray[Any], dtype: DType) -> Value:
    attrs = {"dtype": dtype, "value": Tensor.from_numpy(array, dtype)}
    old = like.node
    node = graph.add("Const", (), attrs, name=old.name, controls=old.controls, device=old.device)
    return node.output(0)


def _drop_unread(graph: Graph, kept: Collection[str]) -> None:
    """Remove transpositions that nothing reads any more, and constants that only they read."""
    pending = [node for node in graph if node.op == "Transpose"]
    while pending:
        node = pending.pop()
        if node.users or node.name in kept:
            continue
        pending += dict.fromkeys(v.node for v in node.inputs if v.node.op in ("Const", "Transpose"))
        if graph.nodes.get(node.name) is node:
            graph.remove(node)
