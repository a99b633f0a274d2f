"""Output shapes of neural network host kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.onnx.shape_rule import broadcast
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.math.shapes import Shapes
from tfport.runtime.ops.nn.windows import DataLayout


@shapes("L2Loss")
def scalar(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [()]


@shapes("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits")
def loss_and_gradient(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [(None,), (None, None)]


@shapes(
    "Elu EluGrad InvGrad LeakyRelu LeakyReluGrad LogSoftmax ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad "
    "RsqrtGrad Selu SeluGrad SigmoidGrad Softmax Softplus SoftplusGrad Softsign SoftsignGrad SqrtGrad "
    "TanhGrad BiasAdd BiasAddV1 BatchNormWithGlobalNormalization LRN"
)
def same(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape]


@shapes("Prelu")
def together(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [broadcast(*(operand.shape for operand in inputs))]


@shapes("Conv2D Conv3D _FusedConv2D")
def convolved(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    filter = inputs[1].shape
    return [_image(inputs[0], attrs, filter[-1] if filter else None)]


@shapes("DepthwiseConv2dNative FusedDepthwiseConv2dNative _FusedDepthwiseConv2dNative")
def convolved_by_channel(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [_image(inputs[0], attrs, None)]


@shapes("AvgPool AvgPool3D MaxPool MaxPool3D MaxPoolV2")
def pooled(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    x, axis = inputs[0].shape, DataLayout(attrs["data_format"]).channel_axis
    return [_image(inputs[0], attrs, x[axis] if x and axis < len(x) else None)]


def _image(x: Operand, attrs: dict[str, Any], channels: int | None) -> Dims:
    """A batch of images in the layout of the op, which has this rank whatever is known about its input."""
    layout = DataLayout(attrs["data_format"])
    sizes: list[int | None] = [None] * layout.rank
    sizes[0], sizes[layout.channel_axis] = x.shape[0] if x.shape else None, channels
    return tuple(sizes)


@shapes("FusedBatchNorm FusedBatchNormV2")
def normalized(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape, *[(None,)] * 4]


@shapes("FusedBatchNormV3")
def normalized_v3(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape, *[(None,)] * 4, None]
