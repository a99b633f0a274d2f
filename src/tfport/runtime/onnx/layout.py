"""Fewer transposes in an island: each is carried down until something needs the axes in that very order.

TensorFlow's networks have channels last and ONNX wants them second, so a lowered convolution
stands between two transposes. On the way through element-wise nodes, reductions, concatenations
and the like these meet, and cancel.

A transpose is not written where it stands; what it would give is remembered as what it takes
and a permutation (`layout_moves`). A node that can work on other axes (`layout_carries`) is
written for those, and its answer is again remembered. Any other node gets the transpose just
before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.runtime.onnx.layout_rules import LAYOUT_RULES
from tfport.runtime.onnx.layout_state import LayoutState, Transposed, like
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


def with_fewer_transposes(nodes: Sequence[OnnxNode], wanted: Iterable[Operand]) -> list[OnnxNode]:
    """The same island; `wanted` are its outputs."""
    if not any(node.op == "Transpose" for node in nodes):
        return list(nodes)
    moves = LayoutState()
    for node in nodes:
        _take(moves, node)
    for operand in wanted:
        moves.plain(operand, named=True)
    return moves.made


def _take(moves: LayoutState, node: OnnxNode) -> None:
    if node.op == "Transpose" and "perm" in node.attrs:
        _transpose(moves, node)
        return
    carries = LAYOUT_RULES.get(node.op) if not node.domain else None
    touched = any(o in moves.moved for o in node.inputs if o is not None)
    if carries is not None and touched and carries(moves, node):
        return
    for program in node.programs:
        for captured in program.captures():
            moves.plain(captured, named=True)
    inputs = tuple(o if o is None else moves.plain(o) for o in node.inputs)
    moves.made.append(node if inputs == node.inputs else like(node, inputs, node.outputs))


def _transpose(moves: LayoutState, node: OnnxNode) -> None:
    (x,), perm = node.inputs, tuple(node.attrs["perm"])
    assert x is not None
    before = moves.moved.get(x)
    if before is None:
        moves.moved[node.outputs[0]] = Transposed(x, perm)
    else:
        moves.moved[node.outputs[0]] = Transposed(before.inner, tuple(before.perm[i] for i in perm))
