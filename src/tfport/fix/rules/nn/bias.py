"""Biases of channels under the other names of adding."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.graph import Node


@rule("BiasAddV1", keeps=EXACT)
def as_bias_add(op: NodeBuilder, n: Node) -> Replacement:
    """BiasAdd does what BiasAddV1 does, which knows channels last only."""
    return op.BiasAdd(*n.inputs, data_format="NHWC")


@rule("BiasAdd", keeps=EXACT)
def as_first_bias_add(op: NodeBuilder, n: Node) -> Replacement:
    """BiasAddV1 adds to channels that come last."""
    if n.attrs["data_format"] != "NHWC":
        return refuse(f"the layout is {n.attrs['data_format']}")
    return op.BiasAddV1(*n.inputs)


@rule("BiasAdd", keeps=EXACT)
def bias_as_sum(op: NodeBuilder, n: Node) -> Replacement:
    """A bias is added to every number of its channel."""
    x, bias = n.inputs
    kind = x.dtype.base
    if kind.is_quantized:
        return refuse(f"Add takes no {kind}")
    if n.attrs["data_format"] == "NHWC":
        return op.Add(x, bias)
    dims = op.shape(x)
    if dims is None:
        return refuse("channels come first, and the rank is not known")
    return op.Add(x, op.Reshape(bias, [-1, *(1 for _ in dims[2:])]))
