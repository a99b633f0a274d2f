"""Ops with channels first, which CPU kernels do not support, with channels last between transpositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.attrs import Attr
from tfport.graph.graph import Node, Value

LAST = {"NCHW": "NHWC", "NCDHW": "NDHWC"}
PER_DIMENSION = ("strides", "ksize", "dilations")
IMAGES = {
    "Conv2DBackpropInput": (2,),
    "Conv3DBackpropInputV2": (2,),
    "FusedBatchNormGrad": (0, 1),
    "FusedBatchNormGradV2": (0, 1),
    "FusedBatchNormGradV3": (0, 1),
}
"""The inputs that are images (default: the first)."""
VECTORS = {"Conv2DBackpropInput": (0,), "Conv3DBackpropInputV2": (0,), "MaxPoolV2": (1, 2)}
"""The inputs that have one number for each axis."""


@rule(
    "Conv2D Conv2DBackpropInput Conv3D Conv3DBackpropInputV2 DepthwiseConv2dNative MaxPool MaxPoolV2 AvgPool "
    "MaxPool3D AvgPool3D FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGrad "
    "FusedBatchNormGradV2 FusedBatchNormGradV3 DepthToSpace SpaceToDepth",
    keeps=EXACT,
)
def channels_last(op: RuleBuilder, n: Node) -> Replacement:
    """The op is computed with channels last, between two transpositions."""
    layout = str(n.attrs["data_format"])
    if layout not in LAST:
        return refuse(f"its data_format is {layout}")
    to_last = [layout.index(name) for name in LAST[layout]]
    back = [LAST[layout].index(name) for name in layout]
    inputs: list[Any] = list(n.inputs)
    for index in IMAGES.get(n.op, (0,)):
        inputs[index] = transposed(op, n.inputs[index], to_last)
    for index in VECTORS.get(n.op, ()):
        inputs[index] = _permuted(op, n.inputs[index], to_last)
    attrs = {name: _for_last(name, value, to_last) for name, value in n.attrs.items()}
    node = op.node(n.op, *inputs, **{**attrs, "data_format": LAST[layout]})
    return [op.Transpose(node, back).output(0), *node.outputs[1:]]


def transposed(op: RuleBuilder, value: Value, order: Sequence[int]) -> Any:
    """Transpose a value; a transposition that cancels the previous one is not added."""
    node = value.node
    back = [list(order).index(index) for index in range(len(order))]
    before = op.array(node.inputs[1]) if node.op == "Transpose" else None
    if before is not None and before.tolist() == back:
        return node.inputs[0]
    dims = op.shape(value)
    return op.tensor(op.Transpose(value, list(order)), dims and [dims[index] for index in order])


def _permuted(op: RuleBuilder, value: Value, order: Sequence[int]) -> Any:
    known = op.array(value)
    return known[list(order)] if known is not None else op.GatherV2(value, list(order), 0)


def _for_last(name: str, value: Attr, order: Sequence[int]) -> Attr:
    if not isinstance(value, list) or not value:
        return value
    if name in PER_DIMENSION:
        return [value[axis] for axis in order]
    if name == "explicit_paddings":
        return [value[2 * axis + side] for axis in order for side in (0, 1)]
    return value
