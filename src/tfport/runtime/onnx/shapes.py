"""Infer the shapes of ONNX nodes' outputs from their inputs: ranks nearly always, sizes often."""

from __future__ import annotations

from tfport.runtime.onnx import shape_rules_array  # noqa: F401  it declares rules, as this module does
from tfport.runtime.onnx.op_facts import REDUCTIONS, TOGETHER, UNARY
from tfport.runtime.onnx.shape_rule import (
    SHAPE_RULES,
    Attrs,
    Inputs,
    broadcast,
    first_two,
    required,
    shape_rule,
)
from tfport.runtime.operand import Dims, Operand


def infer_shapes(op: str, inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    """The shape of each output; None where the rank is unknown."""
    rule = SHAPE_RULES.get(op)
    return rule(inputs, attrs, outputs) if rule else [None] * outputs


# Ops that compute: elementwise ops, reductions, products, convolutions, pooling


@shape_rule(
    f"{UNARY} BatchNormalization CumSum DequantizeLinear Hardmax LRN LayerNormalization LogSoftmax "
    "QuantizeLinear ReverseSequence ScatterElements ScatterND Softmax Trilu"
)
def _same(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    first = inputs[0].shape if inputs[0] is not None else None
    return [first] * outputs


@shape_rule(TOGETHER)
def _broadcast(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [broadcast(*(operand.shape for operand in inputs if operand is not None))]


@shape_rule(REDUCTIONS)
def _reduce(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, axes = required(inputs[0]), inputs[1] if len(inputs) > 1 else None
    keep = attrs.get("keepdims", 1)
    if x.shape is None:
        return [() if axes is None and not keep and not attrs.get("noop_with_empty_axes") else None]
    rank = len(x.shape)
    if axes is None:
        return [x.shape if attrs.get("noop_with_empty_axes") else (1,) * rank if keep else ()]
    if axes.known is None or None in axes.known:
        return [(None,) * rank if keep else None]
    removed = {axis % rank for axis in axes.known if axis is not None} if rank else set()
    if not removed and attrs.get("noop_with_empty_axes"):
        return [x.shape]
    if keep:
        return [tuple(1 if i in removed else n for i, n in enumerate(x.shape))]
    return [tuple(n for i, n in enumerate(x.shape) if i not in removed)]


@shape_rule("ArgMax ArgMin")
def _arg_reduce(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = required(inputs[0])
    if x.shape is None:
        return [None]
    axis = attrs.get("axis", 0) % len(x.shape)
    if attrs.get("keepdims", 1):
        return [tuple(1 if i == axis else n for i, n in enumerate(x.shape))]
    return [tuple(n for i, n in enumerate(x.shape) if i != axis)]


@shape_rule("MatMul")
def _matmul(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, y = first_two(inputs)
    if not x.shape or not y.shape or len(x.shape) < 2 or len(y.shape) < 2:
        return [None]
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    return [None if batch is None else (*batch, x.shape[-2], y.shape[-1])]


@shape_rule("Gemm")
def _gemm(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, y = first_two(inputs)
    if not x.shape or not y.shape:
        return [(None, None)]
    return [(x.shape[attrs.get("transA", 0)], y.shape[1 - attrs.get("transB", 0)])]


@shape_rule("TopK")
def _top_k(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, k = first_two(inputs)
    if x.shape is None:
        return [None] * outputs
    axis = attrs.get("axis", -1) % len(x.shape)
    size = k.known[0] if k.known else None
    return [(*x.shape[:axis], size, *x.shape[axis + 1 :])] * outputs


@shape_rule("Conv")
def _conv(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, w = first_two(inputs)
    if w.shape is None:
        return [x.shape and (None,) * len(x.shape)]
    batch = x.shape[0] if x.shape else None
    return [(batch, w.shape[0], *_windows(x, w.shape[2:], attrs))]


@shape_rule("QLinearConv")
def _quantized_conv(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return _conv((inputs[0], inputs[3]), attrs, outputs)


@shape_rule("QLinearMatMul")
def _quantized_matmul(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return _matmul((inputs[0], inputs[3]), attrs, outputs)


@shape_rule("MaxPool AveragePool LpPool")
def _pool(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = required(inputs[0])
    lead = x.shape[:2] if x.shape else (None, None)
    return [(*lead, *_windows(x, tuple(attrs["kernel_shape"]), attrs))] * outputs


def _windows(x: Operand, kernel: Dims, attrs: Attrs) -> Dims:
    """The number of windows along each spatial axis."""
    n = len(kernel)
    sizes = x.shape[2:] if x.shape else (None,) * n
    strides, dilations = attrs.get("strides", [1] * n), attrs.get("dilations", [1] * n)
    pads, auto, up = attrs.get("pads", [0] * 2 * n), attrs.get("auto_pad", "NOTSET"), attrs.get("ceil_mode")
    counts: list[int | None] = []
    for i, (size, k) in enumerate(zip(sizes, kernel, strict=True)):
        if size is None or k is None or up:
            counts.append(None)
        elif auto.startswith("SAME"):
            counts.append(-(-size // strides[i]))
        else:
            last_start = size + pads[i] + pads[i + n] - dilations[i] * (k - 1) - 1
            counts.append(max(last_start // strides[i] + 1, 0))
    return tuple(counts)


@shape_rule("ConvTranspose")
def _conv_transpose(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, w = first_two(inputs)
    batch = x.shape[0] if x.shape else None
    rank = w.rank or x.rank
    if rank is None:
        return [None]
    channels = w.shape[1] if w.shape else None
    group = attrs.get("group", 1)
    sizes = attrs.get("output_shape") or (None,) * (rank - 2)
    return [(batch, None if channels is None else channels * group, *sizes)]


@shape_rule("GlobalAveragePool GlobalMaxPool")
def _global_pool(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x = required(inputs[0])
    return [x.shape and (*x.shape[:2], *(1,) * (len(x.shape) - 2))]


@shape_rule("Resize")
def _resize(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    x, sizes = required(inputs[0]), inputs[3] if len(inputs) > 3 else None
    if sizes is not None and sizes.known is not None and "axes" not in attrs:
        return [sizes.known]
    scales = inputs[2] if len(inputs) == 3 else None
    if x.shape is None or scales is None or scales.array is None or "axes" in attrs:
        return [x.shape and (None,) * len(x.shape)]
    pairs = zip(x.shape, scales.array.tolist(), strict=True)
    return [tuple(size if scale == 1 or size is None else int(size * scale) for size, scale in pairs)]


@shape_rule("DepthToSpace SpaceToDepth")
def _depth_to_space(inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    return [(None,) * 4]
