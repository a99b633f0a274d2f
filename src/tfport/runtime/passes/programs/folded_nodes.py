"""Nodes that need no step: what they compute is known already when they are traced.

Shapes, and with them the lowerings of later nodes, follow from what is known here; so these passes run node
by node while a model is traced, and not over its program.

Models compute many things twice: each feature column converts the same strings to a sparse tensor, each
layer reads the same shape. Two nodes compute the same if op, attributes and inputs are the same; small
constants are compared by value. Nodes with state, and those that use resources or variants (a tensor list
may be changed in place), are never shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.evaluate import folded
from tfport.runtime.operand import Operand, operand_key
from tfport.runtime.passes.pass_list import node_pass
from tfport.runtime.trace import NodeToTrace, Tracer

_PLAIN = (int, str, bytes, DType, Shape)
_SHARED_STATE = frozenset(("resource", "variant"))


@node_pass
def constant_folding(tracer: Tracer, node: NodeToTrace) -> Sequence[Operand] | None:
    """A node whose inputs are constant is computed while the model is traced.

    It stays a step where its outputs are much larger than its inputs, or where it fails: a run says so.
    """
    if node.run is None or node.is_ordered:
        return None
    values = [operand.value for operand in node.inputs]
    outputs = folded(node.run, node.op, values, node.attrs, node.types)
    if outputs is None:
        return None
    return [Operand(t, value=a, name=node.name) for t, a in zip(node.types, outputs, strict=True)]


@node_pass
def unchanged_inputs(tracer: Tracer, node: NodeToTrace) -> Sequence[Operand] | None:
    """A node that returns an input unchanged, such as a dropout that keeps everything, is left out."""
    unchanged = tracer.facts.unchanged_input(node.op, node.inputs)
    return None if unchanged is None else [unchanged]


@node_pass
def common_steps(tracer: Tracer, node: NodeToTrace) -> Sequence[Operand] | None:
    """Nodes that compute the same are one step."""
    if not node.is_ordered:
        node.key = _step_key(node.op, node.inputs, node.attrs, node.types)
    return None if node.key is None else tracer.common.get(node.key)


def _step_key(
    op: str, inputs: Sequence[Operand], attrs: Mapping[str, Attr], types: Iterable[DType]
) -> Hashable | None:
    """What a node without state computes; None where it cannot be shared or compared."""
    if not inputs:
        return None
    for dtype in (*types, *[operand.dtype for operand in inputs]):
        if dtype.is_ref or dtype.name in _SHARED_STATE:
            return None
    named = []
    for name, value in attrs.items():
        if not name.startswith("_"):
            key = _attr_key(value)
            if key is None:
                return None
            named.append((name, key))
    return op, tuple([operand_key(operand) for operand in inputs]), frozenset(named)


def _attr_key(value: Attr) -> Hashable | None:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return value.hex()  # 0.0 and -0.0 are equal, but not the same
    if isinstance(value, list):
        keys = tuple(_attr_key(element) for element in value)
        return None if None in keys else keys
    return None
