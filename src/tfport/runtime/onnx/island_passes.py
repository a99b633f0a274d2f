"""The passes over the ONNX nodes of an island, and of each branch and loop body in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.runtime.onnx.fuse_convolutions import fuse_convolutions
from tfport.runtime.onnx.layout import with_fewer_transposes
from tfport.runtime.onnx.loops.early_nodes import with_early_nodes
from tfport.runtime.onnx.patterns.simplify import simplified
from tfport.runtime.onnx.reshape_chains import with_fewer_reshapes
from tfport.runtime.onnx.squeezed_axes import with_fewer_squeezes
from tfport.runtime.onnx.turned_products import with_turned_products
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


def island_nodes(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> list[OnnxNode]:
    """The nodes of a graph after the ONNX passes: simplified, fewer transposes, fused convolutions."""
    early = with_early_nodes(nodes)
    simple = with_fewer_reshapes(live_nodes(simplified(early, outputs), outputs))
    turned = with_turned_products(live_nodes(simple, outputs), outputs)
    straight = with_fewer_transposes(live_nodes(turned, outputs), outputs)
    return live_nodes(fuse_convolutions(with_fewer_squeezes(straight, outputs), outputs), outputs)


def live_nodes(nodes: Sequence[OnnxNode], wanted: Iterable[Operand]) -> list[OnnxNode]:
    """The nodes that the wanted operands depend on."""
    needed: set[Operand | None] = set(wanted)
    kept = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
            for program in node.programs:
                needed.update(program.captures())
    return kept[::-1]
