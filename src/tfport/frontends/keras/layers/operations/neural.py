"""Operations of neural networks: activations, softmax, normalization, losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tfport.frontends.keras import activations
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import common_type, promoted, tensors_of
from tfport.frontends.keras.reductions import Axis, axes_of, log_softmax, reduced, sparsemax, variance
from tfport.frontends.keras.reductions import softmax as softmax_over
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import reduce, reshape, squeeze
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import FLOAT32, INT64

ACTIVATIONS_BY_CLASS: dict[str, Callable[..., LayerTensor]] = {
    "Celu": activations.celu,
    "Elu": activations.elu,
    "Gelu": activations.gelu,
    "Glu": activations.glu,
    "HardShrink": activations.hard_shrink,
    "HardTanh": activations.hard_tanh,
    "LeakyRelu": activations.leaky_relu,
    "LogSoftmax": log_softmax,
    "Silu": activations.silu,
    "SoftShrink": activations.soft_shrink,
    "SparsePlus": activations.sparse_plus,
    "SparseSigmoid": activations.sparse_sigmoid,
    "Sparsemax": sparsemax,
    "Threshold": activations.threshold,
    "HardSigmoid": activations.hard_sigmoid,
    "HardSilu": lambda b, x: b.Mul(x, activations.hard_sigmoid(b, x)),
    "LogSigmoid": lambda b, x: b.Neg(b.Softplus(b.Neg(x))),
    "Relu": lambda b, x: b.Relu(x),
    "Relu6": lambda b, x: b.Relu6(x),
    "Selu": lambda b, x: b.Selu(x),
    "Sigmoid": lambda b, x: b.Sigmoid(x),
    "Softplus": lambda b, x: b.Softplus(x),
    "Softsign": lambda b, x: b.Softsign(x),
    "TanhShrink": lambda b, x: b.Sub(x, b.Tanh(x)),
}
for _name, _function in ACTIVATIONS_BY_CLASS.items():
    layer(f"ops.{_name}")(_function)


@layer("ops.Squareplus")
def squareplus(builder: LayerBuilder, x: LayerTensor, *, b: float = 4) -> LayerTensor:
    return activations.squareplus(builder, x, offset=float(b))


@layer("ops.Softmax")
def softmax(b: LayerBuilder, x: LayerTensor, *, axis: int | Sequence[int] | None = -1) -> LayerTensor:
    return softmax_over(b, x, axis=axes_of(x, axis))


@layer("ops.Normalize")
def normalize(
    b: LayerBuilder, x: LayerTensor, *, axis: Axis = -1, order: float = 2, epsilon: float | None = None
) -> LayerTensor:
    (x,) = promoted(b, x, floating=True)
    least = 1e-7 if epsilon is None else epsilon
    if order == 2:
        total = reduced(b, "Sum", b.Square(x), axis, True)
        return b.Mul(x, b.Rsqrt(b.Maximum(total, least**2)))
    total = reduced(b, "Sum", b.Pow(b.Abs(x), float(order)), axis, True)
    return b.RealDiv(x, b.Maximum(b.Pow(total, 1.0 / order), least))


@layer("ops.Moments")
def moments(
    b: LayerBuilder, x: LayerTensor, *, axes: Axis, keepdims: bool = False, synchronized: bool = False
) -> Sequence[LayerTensor]:
    return [reduced(b, "Mean", x, axes, keepdims), variance(b, x, axes, keepdims)]


@layer("ops.LayerNorm")
def layer_norm(
    b: LayerBuilder,
    x: LayerTensor,
    gamma: Any = None,
    beta: Any = None,
    *,
    axis: Axis = -1,
    epsilon: float | None = None,
    rms_scaling: bool = False,
) -> LayerTensor:
    wide, axes = _precise(b, x), sorted(axes_of(x, axis))
    mean, spread = reduced(b, "Mean", wide, axes, True), variance(b, wide, axes, True)
    inverse = b.Rsqrt(b.Add(spread, 1e-7 if epsilon is None else epsilon))
    if gamma is not None:
        inverse = b.Mul(inverse, _along(b, wide, gamma, axes))
    y = b.Mul(wide if rms_scaling else b.Sub(wide, mean), inverse)
    if beta is not None and not rms_scaling:
        y = b.Add(y, _along(b, wide, beta, axes))
    return b.cast(y, x.dtype)


@layer("ops.RMSNorm")
def rms_norm(
    b: LayerBuilder, x: LayerTensor, scale: Any = None, *, axis: Axis = -1, epsilon: float | None = None
) -> LayerTensor:
    wide = _precise(b, x)
    squares = reduced(b, "Mean", b.Square(wide), axis, True)
    y = b.Mul(wide, b.Rsqrt(b.Add(squares, 1e-7 if epsilon is None else epsilon)))
    return b.cast(y if scale is None else b.Mul(y, b.cast(tensors_of(b, scale)[0], y.dtype)), x.dtype)


def _precise(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """The tensor in float32, or a wider type if it has one."""
    return b.cast(x, common_type(x.dtype, FLOAT32))


def _along(b: LayerBuilder, x: LayerTensor, factors: Any, axes: Sequence[int]) -> LayerTensor:
    """Factors of the normalized axes in the rank of the tensor."""
    weights = b.cast(tensors_of(b, factors)[0], x.dtype)
    if weights.rank == x.rank or list(axes) == [x.rank - 1]:
        return weights
    return reshape(b, weights, [size if i in axes else 1 for i, size in enumerate(sizes(b, x))])


@layer("ops.BatchNorm")
def batch_norm(
    b: LayerBuilder,
    x: LayerTensor,
    mean: LayerTensor,
    variance: LayerTensor,
    offset: LayerTensor | None = None,
    scale: LayerTensor | None = None,
    *,
    axis: int,
    epsilon: float = 1e-3,
) -> LayerTensor:
    if axis % x.rank != x.rank - 1:
        raise b.refuse("it normalizes an axis other than the last")
    inverse = b.Rsqrt(b.Add(variance, epsilon))
    inverse = inverse if scale is None else b.Mul(inverse, scale)
    y = b.Mul(b.Sub(x, mean), inverse)
    return y if offset is None else b.Add(y, offset)


# Losses

EPSILON = 1e-7
"""How near a probability may come to 0 and 1."""


def _clipped(b: LayerBuilder, probabilities: LayerTensor) -> LayerTensor:
    return b.Minimum(b.Maximum(probabilities, EPSILON), 1.0 - EPSILON)


@layer("ops.BinaryCrossentropy")
def binary_crossentropy(
    b: LayerBuilder, target: Any, output: Any, *, from_logits: bool = False
) -> LayerTensor:
    target, output = tensors_of(b, target, output)
    if from_logits:
        more = b.Log1p(b.Exp(b.Neg(b.Abs(output))))
        return b.Add(b.Sub(b.Relu(output), b.Mul(output, target)), more)
    output = _clipped(b, output)
    missed = b.Mul(b.Sub(b.OnesLike(target), target), b.Log(b.Sub(b.OnesLike(output), output)))
    return b.Neg(b.Add(b.Mul(target, b.Log(output)), missed))


@layer("ops.CategoricalCrossentropy")
def categorical_crossentropy(
    b: LayerBuilder, target: Any, output: Any, *, from_logits: bool = False, axis: int = -1
) -> LayerTensor:
    target, output = tensors_of(b, target, output)
    if from_logits:
        return b.Neg(reduce(b, "Sum", b.Mul(target, log_softmax(b, output, axis=axis)), [axis]))
    output = _clipped(b, b.RealDiv(output, reduce(b, "Sum", output, [axis], keep=True)))
    return b.Neg(reduce(b, "Sum", b.Mul(target, b.Log(output)), [axis]))


@layer("ops.SparseCategoricalCrossentropy")
def sparse_categorical_crossentropy(
    b: LayerBuilder, target: Any, output: Any, *, from_logits: bool = False, axis: int = -1
) -> LayerTensor:
    target, output = tensors_of(b, target, output)
    if axis % output.rank != output.rank - 1:
        raise b.refuse("the classes are not its last axis")
    if target.rank == output.rank and target.shape[-1] == 1:
        target = squeeze(b, target, -1)
    logits = output if from_logits else b.Log(_clipped(b, output))
    rows = reshape(b, logits, (None, sizes(b, logits)[-1]))
    labels = reshape(b, b.cast(target, INT64), (None,))
    losses = b.tensor(b.node("SparseSoftmaxCrossEntropyWithLogits", rows, labels), (None,))
    return b.tensor(reshape(b, losses, sizes(b, target)).value, output.shape[:-1])


@layer("ops.PSNR")
def signal_to_noise(b: LayerBuilder, x1: LayerTensor, x2: LayerTensor, *, max_val: float) -> LayerTensor:
    """Decibels between the highest possible value and the mean squared error of all elements."""
    error = reduce(b, "Mean", b.Square(b.Sub(x1, x2)), range(x1.rank))
    return b.Sub(20.0 * math.log10(max_val), b.Mul(b.Log(error), 10.0 / math.log(10.0)))
