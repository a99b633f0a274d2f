"""Remove transposes from an island: each moves down until a node needs that axis order.

TensorFlow's networks have channels last, but ONNX has them second, so a lowered convolution is
between two transposes. Moving through elementwise nodes, reductions, concatenations and the like,
these meet and cancel.

A Transpose is not added at once; its output is recorded as its input and a permutation
(`LayoutState`). A node that can work on another axis order has a rule: it adds the rewritten node and
returns True, and the output is recorded the same way; or it adds nothing and returns False. Any other node
gets a Transpose just before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.graph import captured_by, like
from tfport.runtime.onnx.op_facts import REDUCTIONS, TOGETHER, UNARY
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

Perm = tuple[int, ...]


@dataclass(frozen=True)
class Transposed:
    """An operand is a transpose of `inner`: its axis `i` is axis `perm[i]` of `inner`."""

    inner: Operand
    perm: Perm

    @property
    def is_identity(self) -> bool:
        return self.perm == tuple(range(len(self.perm)))


class LayoutState:
    """The nodes added so far, and the operands that are transposed."""

    def __init__(self) -> None:
        self.nodes: list[OnnxNode] = []
        self.transposed: dict[Operand, Transposed] = {}
        self.restored: set[Operand] = set()
        """The transposed operands that were also computed in their original axis order."""

    def original(self, operand: Operand, named: bool = False) -> Operand:
        """An operand in its original axis order; `named`: the operand itself must be computed."""
        transposed = self.transposed.get(operand)
        if transposed is None:
            return operand
        if transposed.is_identity and not named:
            return transposed.inner
        if operand in self.restored:
            return operand
        self.restored.add(operand)
        op, attrs = (
            ("Identity", {}) if transposed.is_identity else ("Transpose", {"perm": list(transposed.perm)})
        )
        self.nodes.append(OnnxNode(op, (transposed.inner,), (operand,), attrs))
        return operand

    def add_transposed(
        self, node: OnnxNode, inputs: Sequence[Operand | None], perm: Perm, **attrs: Any
    ) -> bool:
        """Add a rewritten node; the old outputs are its new outputs transposed by `perm`. Always True."""
        if perm == tuple(range(len(perm))):
            self.nodes.append(like(node, tuple(inputs), node.outputs, **attrs))
            return True
        outputs = tuple(
            Operand(o.dtype, _unpermuted(o.shape, perm), name=o.name.partition("#")[0]) for o in node.outputs
        )
        self.nodes.append(like(node, tuple(inputs), outputs, **attrs))
        self.transposed.update(
            (old, Transposed(new, perm)) for old, new in zip(node.outputs, outputs, strict=True)
        )
        return True

    def ints(self, *values: int) -> Operand:
        return Operand(INT64, value=np.array(values, np.int64))


def _unpermuted(shape: Sequence[int | None] | None, perm: Perm) -> Sequence[int | None] | None:
    if shape is None:
        return None
    return [shape[perm.index(i)] for i in range(len(perm))]


LayoutRule = Callable[[LayoutState, OnnxNode], bool]
LAYOUT_RULES: dict[str, LayoutRule] = {}


@island_pass()
def fewer_transposes(graph: IslandGraph) -> None:
    """Transposes move down the graph until they meet and cancel, or a node needs their axis order."""
    if "Transpose" not in graph.ops:
        return
    state = LayoutState()
    for node in graph.nodes:
        _take(state, node)
    for operand in graph.outputs:
        state.original(operand, named=True)
    graph.nodes = state.nodes


def _take(state: LayoutState, node: OnnxNode) -> None:
    if node.op == "Transpose" and "perm" in node.attrs:
        _transpose(state, node)
        return
    rule = LAYOUT_RULES.get(node.op) if not node.domain else None
    touched = any(o in state.transposed for o in node.inputs if o is not None)
    if rule is not None and touched and rule(state, node):
        return
    for captured in captured_by(node):
        state.original(captured, named=True)
    inputs = tuple(o if o is None else state.original(o) for o in node.inputs)
    state.nodes.append(node if inputs == node.inputs else like(node, inputs, node.outputs))


def _transpose(state: LayoutState, node: OnnxNode) -> None:
    (x,), perm = node.inputs, tuple(node.attrs["perm"])
    assert x is not None
    before = state.transposed.get(x)
    if before is None:
        state.transposed[node.outputs[0]] = Transposed(x, perm)
    else:
        state.transposed[node.outputs[0]] = Transposed(before.inner, tuple(before.perm[i] for i in perm))


def _layout_rule(ops: str) -> Callable[[LayoutRule], LayoutRule]:
    def declare(function: LayoutRule) -> LayoutRule:
        for op in ops.split():
            LAYOUT_RULES[op] = function
        return function

    return declare


@_layout_rule(UNARY)
def _unary(state: LayoutState, node: OnnxNode) -> bool:
    x, *rest = node.inputs
    transposed = state.transposed.get(x) if x is not None else None
    if transposed is None or any(o in state.transposed for o in rest if o is not None):
        return False
    return state.add_transposed(node, [transposed.inner, *rest], transposed.perm)


@_layout_rule(TOGETHER)
def _together(state: LayoutState, node: OnnxNode) -> bool:
    """Broadcasting ops: all inputs in one axis order; constants and scalars are transposed to it."""
    perm = _shared_perm(state, node.inputs)
    if perm is None:
        return False
    inner_inputs = [_in_inner_order(state, o, perm) for o in node.inputs]
    return None not in inner_inputs and state.add_transposed(node, inner_inputs, perm)


def _shared_perm(state: LayoutState, inputs: Iterable[Operand | None]) -> Perm | None:
    perms = {state.transposed[o].perm for o in inputs if o is not None and o in state.transposed}
    return perms.pop() if len(perms) == 1 else None


def _in_inner_order(state: LayoutState, operand: Operand | None, perm: Perm) -> Operand | None:
    """A broadcast operand in the inner axis order; None where that would need a transpose."""
    if operand is None or operand in state.transposed:
        return None if operand is None else state.transposed[operand].inner
    if operand.shape is None or len(operand.shape) > len(perm):
        return None
    if all(n == 1 for n in operand.shape):
        return operand
    if operand.array is None:
        return None
    whole = operand.array.reshape((1,) * (len(perm) - operand.array.ndim) + operand.array.shape)
    return Operand(
        operand.dtype, value=np.ascontiguousarray(whole.transpose(_inverse(perm))), name="transposed"
    )


def _inverse(perm: Perm) -> Perm:
    return tuple(perm.index(i) for i in range(len(perm)))


@_layout_rule("Concat")
def _concat(state: LayoutState, node: OnnxNode) -> bool:
    perm = _shared_perm(state, node.inputs)
    if perm is None:
        return False
    whole = [o for o in node.inputs if o is not None and (o in state.transposed or o.rank == len(perm))]
    inner_inputs = [_in_inner_order(state, o, perm) for o in whole]
    if len(whole) < len(node.inputs) or None in inner_inputs:
        return False
    if any(o not in state.transposed and o is not None and o.array is None for o in node.inputs):
        return False
    return state.add_transposed(node, inner_inputs, perm, axis=perm[node.attrs["axis"]])


@_layout_rule("Split")
def _split(state: LayoutState, node: OnnxNode) -> bool:
    x = state.transposed.get(_first(node))
    if x is None:
        return False
    return state.add_transposed(
        node, [x.inner, *node.inputs[1:]], x.perm, axis=x.perm[node.attrs.get("axis", 0)]
    )


def _first(node: OnnxNode) -> Operand:
    assert node.inputs[0] is not None
    return node.inputs[0]


@_layout_rule("Pad")
def _pad(state: LayoutState, node: OnnxNode) -> bool:
    x = state.transposed.get(_first(node))
    pads = node.inputs[1]
    if x is None or pads is None or pads.array is None or len(node.inputs) > 3:
        return False
    pairs = pads.array.reshape(2, -1)[:, list(_inverse(x.perm))]
    return state.add_transposed(node, [x.inner, state.ints(*pairs.reshape(-1)), *node.inputs[2:]], x.perm)


@_layout_rule(REDUCTIONS)
def _reduce(state: LayoutState, node: OnnxNode) -> bool:
    x = state.transposed.get(_first(node))
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if x is None or axes is None or axes.array is None or not axes.array.size:
        return False
    removed = {int(axis) % len(x.perm) for axis in axes.array.reshape(-1)}
    inputs = [x.inner, state.ints(*sorted(x.perm[i] for i in removed))]
    if node.attrs.get("keepdims", 1):
        return state.add_transposed(node, inputs, x.perm)
    return state.add_transposed(node, inputs, _without(x.perm, removed))


def _without(perm: Perm, removed: set[int]) -> Perm:
    """The permutation of the remaining axes, renumbered."""
    left = [axis for i, axis in enumerate(perm) if i not in removed]
    return tuple(sorted(left).index(axis) for axis in left)


@_layout_rule("Squeeze")
def _squeeze(state: LayoutState, node: OnnxNode) -> bool:
    x = state.transposed.get(_first(node))
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if x is None or axes is None or axes.array is None:
        return False
    removed = {int(axis) % len(x.perm) for axis in axes.array.reshape(-1)}
    inputs = [x.inner, state.ints(*sorted(x.perm[i] for i in removed))]
    return state.add_transposed(node, inputs, _without(x.perm, removed))


@_layout_rule("Unsqueeze")
def _unsqueeze(state: LayoutState, node: OnnxNode) -> bool:
    """New axes go before the axis that they precede, which results in the order of convolutions."""
    x, axes = state.transposed.get(_first(node)), node.inputs[1]
    if x is None or axes is None or axes.array is None:
        return False
    rank = len(x.perm) + axes.array.size
    fresh = {int(axis) % rank for axis in axes.array.reshape(-1)}
    old = iter(x.perm)
    outer: list[int | None] = [None if i in fresh else next(old) for i in range(rank)]
    inner: list[int] = []  # positions of the outer axes, in inner order
    for axis in sorted(x.perm):
        at = outer.index(axis)
        before = at
        while before and outer[before - 1] is None:
            before -= 1
        inner.extend(range(before, at + 1))
    inner.extend(i for i in range(rank) if i not in inner)
    indices = sorted(inner.index(i) for i in fresh)
    return state.add_transposed(
        node, [x.inner, state.ints(*indices)], tuple(inner.index(i) for i in range(rank))
    )


@_layout_rule("Slice")
def _slice(state: LayoutState, node: OnnxNode) -> bool:
    x = state.transposed.get(_first(node))
    starts = node.inputs[1]
    axes = node.inputs[3] if len(node.inputs) > 3 else None
    if x is None or starts is None or starts.shape is None or starts.shape[0] is None:
        return False
    if axes is None:
        indices = list(range(starts.shape[0]))
    elif axes.array is not None:
        indices = [int(axis) for axis in axes.array]
    else:
        return False
    inner = state.ints(*(x.perm[i] for i in indices))
    return state.add_transposed(node, [x.inner, *node.inputs[1:3], inner, *node.inputs[4:]], x.perm)


@_layout_rule("Tile")
def _tile(state: LayoutState, node: OnnxNode) -> bool:
    x, repeats = state.transposed.get(_first(node)), node.inputs[1]
    if x is None or repeats is None or repeats.array is None:
        return False
    inner = state.ints(*repeats.array[list(_inverse(x.perm))])
    return state.add_transposed(node, [x.inner, inner], x.perm)


@_layout_rule("Resize")
def _resize(state: LayoutState, node: OnnxNode) -> bool:
    """Permutes the scales or sizes, one per axis, if they are constant and, as engines need for linear
    interpolation, the last two axes change."""
    x = state.transposed.get(_first(node))
    rest = node.inputs[1:]
    if (
        x is None
        or "axes" in node.attrs
        or any(o is not None and (o.array is None or o.array.size not in (0, len(x.perm))) for o in rest)
    ):
        return False
    order = list(_inverse(x.perm))
    inner_inputs = [
        o if o is None or o.array is None or not o.array.size else Operand(o.dtype, value=o.array[order])
        for o in rest
    ]
    if node.attrs.get("mode", "nearest") != "nearest" and not _changes_last_two(x.inner, inner_inputs):
        return False
    return state.add_transposed(node, [x.inner, *inner_inputs], x.perm)


def _changes_last_two(x: Operand, resize_inputs: Sequence[Operand | None]) -> bool:
    *_, last = (o for o in resize_inputs if o is not None and o.array is not None)
    numbers = np.asarray(last.array)
    before = x.shape if last.dtype == INT64 else (1,) * numbers.size
    return before is not None and tuple(numbers[:-2]) == tuple(before[:-2])


@_layout_rule("Shape")
def _shape(state: LayoutState, node: OnnxNode) -> bool:
    """Gathers the sizes in the original order instead of transposing."""
    x = state.transposed[_first(node)]
    axes = x.perm[node.attrs.get("start", 0) : node.attrs.get("end", len(x.perm))]
    sizes = Operand(INT64, (len(x.perm),), name="sizes")
    state.nodes.append(OnnxNode("Shape", (x.inner,), (sizes,), {}))
    state.nodes.append(OnnxNode("Gather", (sizes, state.ints(*axes)), node.outputs, {"axis": 0}))
    return True


@_layout_rule("Reshape")
def _reshape(state: LayoutState, node: OnnxNode) -> bool:
    """If only axes of size 1 were moved, the elements are in the same order."""
    x, shape = state.transposed.get(_first(node)), node.inputs[1]
    if x is None or shape is None or shape in state.transposed or x.inner.shape is None:
        return False
    order = [axis for axis in x.perm if x.inner.shape[axis] != 1]
    known = shape.known or (None,)
    copies = not node.attrs.get("allowzero") and (0 in known or None in known)  # 0 copies a size
    if order != sorted(order) or copies:
        return False
    state.nodes.append(like(node, (x.inner, shape), node.outputs))
    return True
