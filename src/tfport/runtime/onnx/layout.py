"""Remove transposes from an island: each moves down until a node needs that axis order.

TensorFlow's networks have channels last, but ONNX has them second, so a lowered convolution is
between two transposes. Moving through elementwise nodes, reductions, concatenations and the like,
these meet and cancel.

A Transpose is not added at once; its output is recorded as its input and a permutation
(`layout_state`). A node that can work on another axis order (`layout_rules`) is rewritten for it,
and its output is recorded the same way. Any other node gets a Transpose just before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.runtime.onnx.layout_rules import LAYOUT_RULES
from tfport.runtime.onnx.layout_state import LayoutState, Transposed, like
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


def with_fewer_transposes(nodes: Sequence[OnnxNode], wanted: Iterable[Operand]) -> list[OnnxNode]:
    """The same island with fewer transposes; `wanted` are its outputs."""
    if not any(node.op == "Transpose" for node in nodes):
        return list(nodes)
    state = LayoutState()
    for node in nodes:
        _take(state, node)
    for operand in wanted:
        state.original(operand, named=True)
    return state.nodes


def _take(state: LayoutState, node: OnnxNode) -> None:
    if node.op == "Transpose" and "perm" in node.attrs:
        _transpose(state, node)
        return
    rule = LAYOUT_RULES.get(node.op) if not node.domain else None
    touched = any(o in state.transposed for o in node.inputs if o is not None)
    if rule is not None and touched and rule(state, node):
        return
    for program in node.programs:
        for captured in program.captures():
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
