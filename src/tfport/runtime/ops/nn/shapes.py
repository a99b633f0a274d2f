"""Output shapes of neural network host kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.onnx.shape_rule import broadcast
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.shapes import Shapes


@shapes("L2Loss")
def scalar(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [()]


@shapes("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits")
def loss_and_gradient(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [(None,), (None, None)]


@shapes(
    "Elu EluGrad InvGrad LeakyRelu LeakyReluGrad LogSoftmax ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad "
    "RsqrtGrad Selu SeluGrad SigmoidGrad Softmax Softplus SoftplusGrad Softsign SoftsignGrad SqrtGrad "
    "TanhGrad"
)
def same(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape]


@shapes("Prelu")
def together(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [broadcast(*(operand.shape for operand in inputs))]
