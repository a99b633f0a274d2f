"""TensorFlow ops with weights as layers of Keras, and the ops of layers for images.

A function returns None where the node is no such layer: its weights are computed, or its options are others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfport.fix.keras.traced.values import TracedValues, VariableHandle
from tfport.frontends.keras.config import TensorRef
from tfport.graph.graph import Node, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

BIASED = {"Dense": 1, "Conv2D": 3, "DepthwiseConv2D": -1, "Conv2DTranspose": 2}
"""Layers that add a bias, and the axis of the kernel with their outputs."""
SPATIAL = {"NHWC": (1, 2), "NCHW": (2, 3)}


def dense(t: TracedValues, node: Node) -> TensorRef | None:
    x, factor = node.inputs
    kernel = t.weight(factor)
    if kernel is None or kernel.ndim != 2 or t.is_constant(x):
        return None
    if t.attr(node, "transpose_a") or t.attr(node, "adj_x") or kernel.dtype.kind != "f" or t.rank(x) < 2:
        return None
    if t.attr(node, "transpose_b") or t.attr(node, "adj_y"):
        kernel = kernel.T
    return _layer(t, "Dense", node, x, {"kernel": kernel}, units=kernel.shape[1], use_bias=False)


def dense_over_last_axis(t: TracedValues, node: Node) -> TensorRef | None:
    """`tensordot` of Keras: a reshaped tensor is multiplied, and gets its axes back. Dense does all of it."""
    product = node.inputs[0]
    ref = t.values.get(product)
    if product.node.op != "MatMul" or not isinstance(ref, TensorRef) or len(product.uses) != 1:
        return None
    layer, flat = t.functional.layers[ref.layer], product.node.inputs[0].node
    if layer.class_name != "Dense" or layer.tracked.number is not None or flat.op != "Reshape":
        return None
    source = flat.inputs[0]
    if source.node.op == "Transpose":
        order = t.values.get(source.node.inputs[1])
        if order is None or list(order) != list(range(len(order))):
            return None
        source = source.node.inputs[0]
    before, after, rows = t.shape(source), t.shape(node.output(0)), t.shape(flat.output(0))
    if not before or not after or not rows or len(before) != len(after) or before[-1] != rows[-1]:
        return None
    if any(None not in (a, b) and a != b for a, b in zip(before[:-1], after[:-1], strict=True)):
        return None
    layer.calls = [((t.tensor(source),), {})]
    t.improve(node.output(0), (*before[:-1], layer.config["units"]))
    return ref


def _layer(
    t: TracedValues, class_name: str, node: Node, x: Value, weights: dict[str, NDArray[Any]], **options: Any
) -> TensorRef:
    name = next((part for part in reversed(node.name.split("/")[:-1]) if part != "call"), class_name.lower())
    dtype = {"dtype": x.dtype.name}
    return t.functional.weighted(class_name, name, t.tensor(x), weights, **dtype, **options)


def with_bias(t: TracedValues, node: Node) -> TensorRef | None:
    """Add the bias to the layer before, if nothing else reads its result."""
    for x, other in (node.inputs, node.inputs[::-1]):
        ref, bias = t.values.get(x), t.weight(other)
        if not isinstance(ref, TensorRef) or bias is None or len(x.uses) != 1 or bias.ndim != 1:
            continue
        layer = t.functional.layers[ref.layer]
        channels = t.shape(x)
        is_new = layer.config.get("use_bias") is False and layer.tracked.number is None
        first = layer.config.get("data_format") == "channels_first"
        if not is_new or layer.class_name not in BIASED or channels is None:
            continue
        if channels[1 if first else -1] == len(bias) and first == (t.attr(node, "data_format") == "NCHW"):
            layer.config["use_bias"] = True
            t.add_weight(layer, "bias", bias)
            return ref
    return None


def embedding(t: TracedValues, node: Node) -> TensorRef | None:
    table, indices = node.inputs[:2]
    content = t.values.get(table)
    rows = (
        t.weight_of(content.number, node).array() if isinstance(content, VariableHandle) else t.weight(table)
    )
    if rows is None or rows.ndim != 2 or t.is_constant(indices) or rows.dtype.kind != "f":
        return None
    if len(node.inputs) > 2 and int(t.array(node.inputs[2])) != 0:
        return None
    if t.attr(node, "batch_dims"):
        return None
    sizes = {"input_dim": rows.shape[0], "output_dim": rows.shape[1]}
    return t.functional.weighted("Embedding", "embedding", t.tensor(indices), {"embeddings": rows}, **sizes)


def gather(t: TracedValues, node: Node) -> TensorRef | None:
    if (content := embedding(t, node)) is not None:
        return content
    if isinstance(t.values.get(node.inputs[0]), VariableHandle) or t.attr(node, "batch_dims"):
        return None
    axis = int(t.array(node.inputs[2])) if len(node.inputs) > 2 else 0
    x, indices = node.inputs[:2]
    return t.functional.function("gather", t.tensor(x), indices=t.operand(indices), axis=axis)


def convolution(t: TracedValues, node: Node) -> TensorRef | None:
    x, filters = node.inputs
    kernel, options = t.weight(filters), _options(t, node)
    if kernel is None or options is None or t.is_constant(x):
        return None
    channels = (t.shape(x) or (None,) * 4)[1 if options["data_format"] == "channels_first" else -1]
    if channels is None or channels % kernel.shape[2]:
        return None
    options |= {"filters": kernel.shape[3], "kernel_size": kernel.shape[:2], "use_bias": False}
    if channels != kernel.shape[2]:
        options["groups"] = channels // kernel.shape[2]
    return _layer(t, "Conv2D", node, x, {"kernel": kernel}, **options)


def depthwise(t: TracedValues, node: Node) -> TensorRef | None:
    x, filters = node.inputs
    kernel, options = t.weight(filters), _options(t, node)
    if kernel is None or options is None or t.is_constant(x):
        return None
    options |= {"kernel_size": kernel.shape[:2], "depth_multiplier": kernel.shape[3], "use_bias": False}
    return _layer(t, "DepthwiseConv2D", node, x, {"depthwise_kernel": kernel}, **options)


def transposed_convolution(t: TracedValues, node: Node) -> TensorRef | None:
    _, filters, x = node.inputs
    kernel, options = t.weight(filters), _options(t, node)
    if kernel is None or options is None or t.is_constant(x):
        return None
    options |= {"filters": kernel.shape[2], "kernel_size": kernel.shape[:2], "use_bias": False}
    return _layer(t, "Conv2DTranspose", node, x, {"kernel": kernel}, **options)


def _options(t: TracedValues, node: Node, padding: str = "padding") -> dict[str, Any] | None:
    """Strides, padding and layout of an op on images; None if Keras has no such layer."""
    layout = t.attr(node, "data_format") or "NHWC"
    axes = SPATIAL.get(layout)
    if axes is None or t.attr(node, padding) not in ("SAME", "VALID"):
        return None
    strides = [t.attr(node, "strides")[axis] for axis in axes]
    dilations = [(t.attr(node, "dilations") or [1] * 4)[axis] for axis in axes]
    return {
        "strides": strides,
        "padding": str(t.attr(node, padding)).lower(),
        "dilation_rate": dilations,
        "data_format": "channels_first" if layout == "NCHW" else "channels_last",
    }


def pooling(t: TracedValues, node: Node) -> TensorRef | None:
    options = _options(t, node)
    if options is None or len(node.inputs) != 1 or any(n != 1 for n in options.pop("dilation_rate")):
        return None
    axes = SPATIAL[t.attr(node, "data_format") or "NHWC"]
    options["pool_size"] = [t.attr(node, "ksize")[axis] for axis in axes]
    name = {"MaxPool": "MaxPooling2D", "AvgPool": "AveragePooling2D"}[node.op]
    layer = t.functional.layer(name, "pooling", {**options, "trainable": True})
    return t.functional.call(layer, t.tensor(node.inputs[0]))


def normalization(t: TracedValues, node: Node) -> TensorRef | None:
    x, *parts = node.inputs
    arrays = [t.weight(value) for value in parts]
    layout = t.attr(node, "data_format") or "NHWC"
    if t.attr(node, "is_training") or any(array is None for array in arrays) or layout not in SPATIAL:
        return None
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    weights = {name: array for name, array in zip(names, arrays, strict=True) if array is not None}
    options = {"axis": 1 if layout == "NCHW" else 3, "epsilon": float(t.attr(node, "epsilon"))}
    return _layer(t, "BatchNormalization", node, x, weights, **options)


WEIGHTED: dict[str, Callable[[TracedValues, Node], TensorRef | None]] = {
    "MatMul": dense,
    "BatchMatMul": dense,
    "BatchMatMulV2": dense,
    "Reshape": dense_over_last_axis,
    "Add": with_bias,
    "AddV2": with_bias,
    "BiasAdd": with_bias,
    "ResourceGather": embedding,
    "GatherV2": gather,
    "Gather": gather,
    "Conv2D": convolution,
    "DepthwiseConv2dNative": depthwise,
    "Conv2DBackpropInput": transposed_convolution,
    "MaxPool": pooling,
    "AvgPool": pooling,
    "FusedBatchNorm": normalization,
    "FusedBatchNormV2": normalization,
    "FusedBatchNormV3": normalization,
}
