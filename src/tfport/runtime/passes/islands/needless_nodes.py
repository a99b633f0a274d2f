"""Nodes that need not be computed: nothing reads them, others of the graph compute the same, or they choose
between two ways to the same result, where a GPU waits for the choice and a CUDA graph has no branches.

A lowering often makes nodes that another one made: the shape of an image, an index in another type.
ONNX Runtime's optimizer for it takes longer, and the whole graph is prepared again after it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tfport.runtime.onnx.model import TINY, nodes_of
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import GPU, ONNX_RUNTIME_CPU, island_pass
from tfport.runtime.program import OnnxNode


@island_pass()
def unused_nodes(graph: IslandGraph) -> None:
    """What no output depends on is not computed."""
    graph.remove_unused()


@island_pass(when=ONNX_RUNTIME_CPU)
def equal_nodes(graph: IslandGraph) -> None:
    """Nodes that compute the same are computed once."""
    results, first, nodes = set(graph.outputs), dict[Hashable, OnnxNode](), list[OnnxNode]()
    for node in graph.nodes:
        inputs = tuple(o if o is None else graph.same.get(o, o) for o in node.inputs)
        if not node.programs:
            attrs = _attrs_key(node.attrs) if node.attrs else ()
            key = node.op, node.domain, len(node.outputs), attrs, *map(_operand_key, inputs)
            earlier = first.setdefault(key, node)
            if earlier is not node and results.isdisjoint(node.outputs):
                graph.same.update(zip(node.outputs, earlier.outputs, strict=True))
                continue
        is_same = inputs == node.inputs
        nodes.append(node if is_same else OnnxNode(node.op, inputs, node.outputs, node.attrs, node.domain))
    if len(nodes) < len(graph.nodes):
        graph.nodes = nodes


def _operand_key(operand: Operand | None) -> Hashable:
    """An operand itself; of a constant, its array, and of a tiny one, which is written once, its content."""
    array = operand.array if operand is not None else None
    if operand is None or array is None:
        return operand
    if array.nbytes > TINY:
        return id(array)
    return operand.dtype.name, array.shape, np.ascontiguousarray(array).tobytes()


def _attrs_key(attrs: Mapping[str, Any]) -> Hashable:
    return tuple((name, _attr_key(value)) for name, value in attrs.items())


def _attr_key(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, str | int):
        return value
    return repr(value)  # lists; 0.0 and -0.0 are equal, but not the same


@island_pass(when=GPU)
def general_branches(graph: IslandGraph) -> None:
    """A branch that only saves time is replaced by what is right on both sides of it."""
    for node in list(graph.nodes):
        if node.general is not None:
            graph.replace(node, *_inlined(node))


def _inlined(branch: OnnxNode) -> list[OnnxNode]:
    """The nodes of the general program, the result of which is now that of the branch."""
    assert branch.general is not None
    (result,), (output,) = branch.general.results, branch.outputs
    nodes = list(nodes_of(branch.general))
    (last,) = (node for node in nodes if result in node.outputs)
    outputs = tuple(output if operand is result else operand for operand in last.outputs)
    renamed = OnnxNode(last.op, last.inputs, outputs, last.attrs, last.domain, last.means)
    return [renamed if node is last else node for node in nodes]
