"""Losses as operations: crossentropies, and the ratio of signal to noise."""

from __future__ import annotations

import math
from typing import Any

from tfport.frontends.keras.arrays import reduce, reshape, sizes, squeeze
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import tensors_of
from tfport.frontends.keras.softmax import log_softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import INT64

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
