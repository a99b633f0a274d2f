"""BiasAdd as its other versions, and as an addition."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.graph import Node


@rule("BiasAddV1", keeps=EXACT)
def as_bias_add(op: NodeBuilder, n: Node) -> Replacement:
    """BiasAdd computes the same; BiasAddV1 supports channels last only."""
    return op.BiasAdd(*n.inputs, data_format="NHWC")


@rule("BiasAdd", keeps=EXACT)
def as_first_bias_add(op: NodeBuilder, n: Node) -> Replacement:
    """BiasAddV1 computes the same for channels last."""
    if n.attrs["data_format"] != "NHWC":
        return refuse(f"its data_format is {n.attrs['data_format']}")
    return op.BiasAddV1(*n.inputs)


@rule("BiasAdd", keeps=EXACT)
def bias_as_sum(op: NodeBuilder, n: Node) -> Replacement:
    """The bias is broadcast over its channel and added."""
    x, bias = n.inputs
    kind = x.dtype.base
    if kind.is_quantized:
        return refuse(f"Add does not support {kind}")
    if n.attrs["data_format"] == "NHWC":
        return op.Add(x, bias)
    dims = op.shape(x)
    if dims is None:
        return refuse("its channels come first, and its rank is unknown")
    return op.Add(x, op.Reshape(bias, [-1, *(1 for _ in dims[2:])]))
