"""Ops that TensorFlow's optimizer or TensorFlow.js fused, as a product and the ops that follow it.

Files of TensorFlow.js omit attributes (`TArgs`, `explicit_paddings`) and have ops that no release
defines (`FusedDepthwiseConv2dNative`, `Prelu`), so missing attributes have defaults here.
`_FusedBatchNormEx`: `rules.nn.batch_norm`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node, Value

LAYOUTS = ("NHWC", "NCHW")
NAMED = ("Relu", "Relu6", "Elu", "Tanh", "Sigmoid")
NOTHING = "NoOp"
"""What TensorFlow.js writes in place of a bias."""
CONVOLVES = ("strides", "padding", "explicit_paddings", "data_format", "dilations")


@rule("_FusedConv2D", keeps=ROUNDING)
def conv2d_and_what_follows(op: RuleBuilder, n: Node) -> Replacement:
    """A fused convolution is Conv2D, followed by the fused ops."""
    if n.attrs["filter_format"] != "HWIO":
        return refuse(f"its filter_format is {n.attrs['filter_format']}")
    if n.attrs["num_host_args"]:
        return refuse("it has scales for 8-bit numbers")
    convolved = op.Conv2D(*n.inputs[:2], **_convolving(n))
    return _followed(op, n, convolved)


@rule("_FusedDepthwiseConv2dNative FusedDepthwiseConv2dNative", keeps=ROUNDING)
def depthwise_and_what_follows(op: RuleBuilder, n: Node) -> Replacement:
    """A fused convolution is DepthwiseConv2dNative, followed by the fused ops."""
    convolved = op.DepthwiseConv2dNative(*n.inputs[:2], **_convolving(n))
    return _followed(op, n, convolved)


@rule("_FusedMatMul", keeps=ROUNDING)
def matmul_and_what_follows(op: RuleBuilder, n: Node) -> Replacement:
    """A fused product is MatMul, followed by the fused ops."""
    flags = {name: n.attrs[name] for name in ("transpose_a", "transpose_b")}
    return _followed(op, n, op.MatMul(*n.inputs[:2], **flags))


@rule("Prelu", keeps=EXACT)
def prelu_is_a_choice(op: RuleBuilder, n: Node) -> Replacement:
    """Prelu is a product with alpha where the input is negative."""
    return _prelu(op, *n.inputs)


def _convolving(n: Node) -> dict[str, Any]:
    if _layout(n) not in LAYOUTS:
        raise refuse(f"its data_format is {_layout(n)}")
    if not n.inputs[0].dtype.base.is_floating:
        raise refuse(f"it convolves {n.inputs[0].dtype.base}")
    return {name: n.attrs[name] for name in CONVOLVES if name in n.attrs}


def _layout(n: Node) -> str:
    return str(n.attrs.get("data_format", "NHWC"))


def _followed(op: RuleBuilder, n: Node, first: Node) -> Value:
    rest = list(n.inputs[2:])
    dims = op.shape(n.output(0))
    y = op.tensor(first, dims)
    for name in _fused_ops(n):
        if name == NOTHING:
            continue
        y = op.tensor(_step(op, n, name, y, rest), dims)
    if rest:
        raise refuse(f"the meaning of its last {len(rest)} inputs is unknown")
    return y


def _fused_ops(n: Node) -> list[str]:
    fused_ops = n.attrs["fused_ops"]
    names = fused_ops if isinstance(fused_ops, list) else []
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names]


def _step(op: RuleBuilder, n: Node, name: str, y: Value, rest: list[Value]) -> Node:
    if name == "BiasAdd":
        return op.BiasAdd(y, _next(name, rest), data_format=_layout(n))
    if name == "Add":
        return op.Add(y, _next(name, rest))
    if name == "FusedBatchNorm":
        return _normalized(op, n, y, rest)
    if name == "LeakyRelu":
        return op.LeakyRelu(y, alpha=n.attrs.get("leakyrelu_alpha", 0.2))
    if name == "Prelu":
        return _prelu(op, y, _next(name, rest))
    if name in NAMED:
        return op.node(name, y)
    if name in GELUS:
        return GELUS[name](op, y)
    raise refuse(f"the fused op {name} is unknown")


def _normalized(op: RuleBuilder, n: Node, y: Value, rest: list[Value]) -> Node:
    if (dtype := y.dtype.base) != FLOAT32:
        raise refuse(f"FusedBatchNorm does not support {dtype}")
    statistics = [_next("FusedBatchNorm", rest) for _ in range(4)]
    attrs = {"epsilon": n.attrs.get("epsilon", 1e-4), "is_training": False}
    return op.FusedBatchNorm(y, *statistics, **attrs, data_format=_layout(n))


def _prelu(op: RuleBuilder, x: Value, alpha: Value) -> Node:
    return op.SelectV2(op.Less(x, 0), op.Mul(x, alpha), x)


def _next(name: str, rest: list[Value]) -> Value:
    if not rest:
        raise refuse(f"the input for {name} is missing")
    return rest.pop(0)


def _gelu(op: RuleBuilder, y: Value) -> Node:
    return op.Mul(op.Mul(y, 0.5), op.Add(op.Erf(op.Mul(y, math.sqrt(0.5))), 1))


def _gelu_approximate(op: RuleBuilder, y: Value) -> Node:
    cube = op.Mul(op.Mul(y, op.Mul(y, y)), 0.044715)
    return op.Mul(op.Mul(y, 0.5), op.Add(op.Tanh(op.Mul(op.Add(y, cube), math.sqrt(2 / math.pi))), 1))


def _hard_swish(op: RuleBuilder, y: Value) -> Node:
    return op.Mul(y, op.Mul(op.Relu6(op.Add(y, 3)), 1 / 6))


GELUS: dict[str, Callable[[RuleBuilder, Value], Node]] = {
    "GeluExact": _gelu,
    "GeluApproximate": _gelu_approximate,
    "_FusedHardSwish": _hard_swish,
}
