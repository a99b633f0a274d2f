"""Activations as arithmetic, computed as in their kernels, and BiasAdd as its other versions."""

from __future__ import annotations

from typing import Any

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import Size, Sizes
from tfport.graph.graph import Node, Value

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717


@rule("LeakyRelu", keeps=EXACT)
def leaky_by_select(op: RuleBuilder, n: Node) -> Replacement:
    """Positive numbers are unchanged, and others are multiplied by alpha."""
    (x,) = n.inputs
    return op.Select(op.Greater(x, 0), x, op.Mul(x, n.attrs["alpha"]))


@rule("Relu", keeps=EXACT)
def relu_as_maximum(op: RuleBuilder, n: Node) -> Replacement:
    """Relu is the maximum with zero."""
    if n.inputs[0].dtype.base.is_quantized:
        return refuse(f"Maximum does not support {n.inputs[0].dtype.base}")
    return op.Maximum(n.inputs[0], 0)


@rule("Relu6", keeps=EXACT)
def relu6_as_minimum(op: RuleBuilder, n: Node) -> Replacement:
    """Relu6 is the minimum of Relu and six."""
    return op.Minimum(op.Relu(n.inputs[0]), 6)


@rule("Elu", keeps=ROUNDING)
def elu_by_select(op: RuleBuilder, n: Node) -> Replacement:
    """Negative numbers become their exponential minus one."""
    (x,) = n.inputs
    return op.Select(op.Less(x, 0), op.Expm1(x), x)


@rule("Selu", keeps=ROUNDING)
def selu_as_elu(op: RuleBuilder, n: Node) -> Replacement:
    """Selu is a scaled Elu, with an extra factor for negative numbers."""
    (x,) = n.inputs
    below = op.Mul(op.Elu(x), SELU_SCALE * SELU_ALPHA)
    return op.Select(op.Less(x, 0), below, op.Mul(x, SELU_SCALE))


@rule("Softsign", keeps=EXACT)
def softsign_as_quotient(op: RuleBuilder, n: Node) -> Replacement:
    """Softsign divides by the absolute value plus one."""
    (x,) = n.inputs
    return op.RealDiv(x, op.Add(op.Abs(x), 1))


@rule("Softplus", keeps=ROUNDING)
def softplus_as_logarithm(op: RuleBuilder, n: Node) -> Replacement:
    """Softplus is the logarithm of the exponential plus one, computed without overflow."""
    (x,) = n.inputs
    return op.Add(op.Maximum(x, 0), op.Log1p(op.Exp(op.Neg(op.Abs(x)))))


@rule("Softmax LogSoftmax", keeps=EXACT)
def row_by_row(op: RuleBuilder, n: Node) -> Replacement:
    """The tensor is reshaped to a matrix, because the op works on each row independently."""
    (x,) = n.inputs
    sizes = Sizes(op)
    if (dims := op.shape(x)) is None or len(dims) == 2:
        return refuse(f"its shape is {'unknown' if dims is None else list(dims)}")
    *rest, last = whole = sizes.of(x)
    rows: Size = 1
    for size in rest:
        rows = sizes.mul(rows, size)
    matrix = op.tensor(op.Reshape(x, sizes.vector([rows, last])), (None, None))
    return op.Reshape(op.node(n.op, matrix), sizes.vector(whole))


@rule("Softmax", keeps=ROUNDING)
def softmax_as_quotient(op: RuleBuilder, n: Node) -> Replacement:
    """Softmax divides the exponentials by their sum."""
    powers = op.Exp(_below_largest(op, n.inputs[0]))
    return op.RealDiv(powers, op.Sum(powers, [-1], keep_dims=True))


@rule("LogSoftmax", keeps=ROUNDING)
def log_softmax_as_difference(op: RuleBuilder, n: Node) -> Replacement:
    """LogSoftmax subtracts the logarithm of the sum of the exponentials."""
    less = _below_largest(op, n.inputs[0])
    return op.Sub(less, op.Log(op.Sum(op.Exp(less), [-1], keep_dims=True)))


def _below_largest(op: RuleBuilder, x: Value) -> Any:
    return op.Sub(x, op.Max(x, [-1], keep_dims=True))


# BiasAdd.


@rule("BiasAddV1", keeps=EXACT)
def as_bias_add(op: RuleBuilder, n: Node) -> Replacement:
    """BiasAdd gives the same result; BiasAddV1 supports channels last only."""
    return op.BiasAdd(*n.inputs, data_format="NHWC")


@rule("BiasAdd", keeps=EXACT)
def as_first_bias_add(op: RuleBuilder, n: Node) -> Replacement:
    """BiasAddV1 gives the same result for channels last."""
    if n.attrs["data_format"] != "NHWC":
        return refuse(f"its data_format is {n.attrs['data_format']}")
    return op.BiasAddV1(*n.inputs)


@rule("BiasAdd", keeps=EXACT)
def bias_as_sum(op: RuleBuilder, n: Node) -> Replacement:
    """The bias is broadcast over its channel and added."""
    x, bias = n.inputs
    dtype = x.dtype.base
    if dtype.is_quantized:
        return refuse(f"Add does not support {dtype}")
    if n.attrs["data_format"] == "NHWC":
        return op.Add(x, bias)
    dims = op.shape(x)
    if dims is None:
        return refuse("its channels come first, and its rank is unknown")
    return op.Add(x, op.Reshape(bias, [-1, *(1 for _ in dims[2:])]))
