"""Convolutions and matrix products of quantized tensors."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q

import tfport
from tfport.formats.lite.write import lite_bytes
from tfport.frontends.lite.quantized_value import INT8, UINT8
from tfport.runtime.onnx.shapes import infer_shapes
from tfport.runtime.operand import Operand


def integers(seed, shape, low=-128, high=128, dtype=np.int8):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def conv(x, w, scales, seed=0, bias=True, y=("INT8", 0.9, -5), **options):
    """A convolution with an input scale of 0.1 and biases in the scale of the sums."""
    depthwise = options.pop("depthwise", False)
    channels = w.shape[3] if depthwise else w.shape[0]
    x_scale = np.float32(0.1)
    scales = np.atleast_1d(np.float32(scales))
    wide = np.int64 if x.dtype == np.int16 else np.int32
    biases = integers(seed + 7, channels, -3000, 3000, wide)
    x_zero, w_zero = {"int8": (-3, 0), "uint8": (120, 131), "int16": (0, 0)}[str(x.dtype)]
    weights = const(q(w, scales, w_zero, 3 if depthwise else 0))
    added = [const(q(biases, scales * x_scale))] if bias else []
    base = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "NONE"}
    if depthwise:
        base |= {"options_type": "DepthwiseConv2DOptions", "depth_multiplier": channels // x.shape[3]}
    op = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    rates = {"dilation_w_factor": 1, "dilation_h_factor": 1}
    return case(
        op, q(x, x_scale, x_zero), weights, *added, outputs=[out(*y)], version=3, steps=1,
        **(base | rates | options),
    )  # fmt: skip


def roundings(op, type="INT8", seed=20, **options):
    """Small sums and a factor near 0.1, so that many of them are near halves."""
    kind = {"INT8": np.int8, "UINT8": np.uint8, "INT16": np.int16}[type]
    info, zero = np.iinfo(kind), {"UINT8": 128}.get(type, 0)
    x = integers(seed, (1, 12, 13, 3), info.min, info.max + 1, kind)
    shape = {"CONV_2D": (5, 1, 1, 3), "DEPTHWISE_CONV_2D": (1, 1, 1, 3), "FULLY_CONNECTED": (5, 3)}[op]
    weights = integers(seed + 1, shape, -3, 4, np.int16)
    if type == "UINT8":
        weights = (weights + zero).astype(np.uint8)
    factor = 0.0913457 if type != "INT16" else 0.3471
    tune = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
    if op == "DEPTHWISE_CONV_2D":
        tune |= {"options_type": "DepthwiseConv2DOptions", "depth_multiplier": 1}
    if op == "FULLY_CONNECTED":
        tune = {"keep_num_dims": False}
    channels = shape[-1] if op == "DEPTHWISE_CONV_2D" else shape[0]
    scales = np.float32(np.linspace(0.51237, 0.71991, channels) if options.pop("channels", 0) else [0.6177])
    bias = q(integers(22, channels, -9, 10, np.int64 if type == "INT16" else np.int32), scales)
    axis = 3 if op == "DEPTHWISE_CONV_2D" else 0
    w = q(weights if type == "UINT8" else weights.astype(np.int8), scales, zero, axis)
    return case(
        op, q(x, 1, zero), const(w), const(bias), outputs=[out(type, 0.6177 / factor, zero)], version=5,
        steps=1, fused_activation_function="NONE", **(tune | options),
    )  # fmt: skip


SCALES = np.random.default_rng(5).random(6) * 0.01 + 0.005
X = integers(1, (2, 7, 6, 4))
W = integers(2, (6, 3, 2, 4), -127)
D = integers(3, (1, 3, 3, 8), -127)
U = integers(4, (1, 6, 7, 4), 0, 256, np.uint8)
WU = integers(6, (5, 3, 3, 4), 0, 256, np.uint8)
S = integers(8, (1, 5, 6, 4), -32768, 32768, np.int16)
CASES = [
    conv(X, W, SCALES),
    conv(X, W, SCALES, padding="VALID", stride_h=2),
    conv(X, W, SCALES, fused_activation_function="RELU6", y=("INT8", 0.03, -100)),
    conv(X, W, SCALES, fused_activation_function="RELU", stride_w=2, y=("INT8", 2.0, 3)),
    conv(X, W, SCALES, fused_activation_function="RELU_N1_TO_1", dilation_w_factor=2, dilation_h_factor=3),
    conv(X, W, 0.01),
    conv(X, integers(9, (6, 3, 2, 2), -127), SCALES),
    conv(X, D, np.tile(SCALES, 2)[:8], depthwise=True),
    conv(X, D, np.tile(SCALES, 2)[:8], depthwise=True, fused_activation_function="RELU6", stride_w=2,
         stride_h=2, y=("INT8", 0.02, -128)),
    conv(X, D, 0.01, depthwise=True, padding="VALID", bias=False),
    conv(U, WU, 0.01, y=("UINT8", 1.5, 128)),
    conv(U, WU, 0.01, y=("UINT8", 0.5, 0), fused_activation_function="RELU6"),
    conv(U, integers(10, (1, 3, 3, 4), 0, 256, np.uint8), 0.01, depthwise=True, y=("UINT8", 0.5, 100)),
    conv(S, W[:, :, :, :4], SCALES, y=("INT16", 0.05, 0)),
    conv(S, W, SCALES, y=("INT16", 0.02, 0), fused_activation_function="RELU", stride_h=2),
    conv(S, D, np.tile(SCALES, 2)[:8], depthwise=True, y=("INT16", 0.01, 0)),
]  # fmt: skip


def dense(x, w, scales, y=("INT8", 0.9, -5), bias=True, x_zero=-3, w_zero=0, wide=np.int32, **options):
    scales = np.atleast_1d(np.float32(scales))
    biases = integers(11, len(w), -3000, 3000, wide).reshape(options.pop("bias_shape", -1))
    base = {"fused_activation_function": "NONE", "keep_num_dims": False}
    kind = options.pop("type", "")
    return case(
        "FULLY_CONNECTED", q(x, 0.1, x_zero), const(q(w, scales, w_zero, 0, kind)),
        const(q(biases, scales * np.float32(0.1))) if bias else None, outputs=[out(*y)],
        version=options.pop("version", 4), steps=1, **(base | options),
    )  # fmt: skip


CASES += [
    dense(integers(12, (3, 10)), integers(13, (5, 10), -127), 0.01),
    dense(integers(12, (3, 10)), integers(13, (5, 10), -127), 0.01, bias_shape=(1, 5)),
    dense(integers(12, (2, 3, 10)), integers(13, (5, 10), -127), 0.02, keep_num_dims=True),
    dense(integers(12, (2, 3, 10)), integers(13, (5, 10), -127), 0.02, bias=False),
    dense(integers(12, (3, 10)), integers(13, (6, 10), -127), SCALES, version=12),
    dense(integers(12, (3, 10)), integers(13, (6, 10), -127), 0.02, fused_activation_function="RELU"),
    dense(integers(14, (3, 10), 0, 256, np.uint8), integers(15, (4, 10), 0, 256, np.uint8), 0.02,
          ("UINT8", 0.9, 100), x_zero=121, w_zero=118),
    dense(integers(16, (3, 10), -32768, 32768, np.int16), integers(17, (4, 10), -127), 0.02,
          ("INT16", 0.4, 0), x_zero=0, wide=np.int64, version=7),
    dense(integers(16, (3, 10), -32768, 32768, np.int16), integers(17, (4, 10), -127), 0.02,
          ("INT16", 0.4, 0), x_zero=0, version=11, quantized_bias_type="INT32"),
    dense(integers(12, (3, 10)), integers(18, (5, 10), -7, 8), 0.1, type="INT4", version=10),
]  # fmt: skip

CASES += [
    roundings(op, type, channels=channels)
    for op in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
    for type in ("INT8", "UINT8", "INT16")
    for channels in (False, True)
    if not channels or type != "UINT8"
]


def back(x, height, width, scales, y=("INT8", 0.9, -5), bias=False, **options):
    """A transposed convolution to an image of this size."""
    channels, kernel = len(scales), options.pop("kernel", (3, 3))
    w = integers(30, (channels, *kernel, x.shape[3]), -127)
    zeros = {"int8": -3, "int16": 0}[str(x.dtype)]
    wide = np.int64 if x.dtype == np.int16 else np.int32
    added = [const(q(integers(31, channels, -3000, 3000, wide), scales * np.float32(0.1)))] if bias else []
    base = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "fused_activation_function": "NONE"}
    return case(
        "TRANSPOSE_CONV", const(np.array([x.shape[0], height, width, channels], np.int32)),
        const(q(w, scales)), q(x, 0.1, zeros), *added, outputs=[out(*y)], version=4, steps=1,
        **(base | options),
    )  # fmt: skip


def product(x, y, out_scale, zeros=(3, -20, 5), adj_x=False, adj_y=False, **options):
    kind = {"int8": "INT8", "int16": "INT16"}[str(x.dtype)]
    return case(
        "BATCH_MATMUL", q(x, 0.0371, zeros[0]), q(y, 0.0213, zeros[1]), adj_x=adj_x, adj_y=adj_y,
        outputs=[out(kind, out_scale, zeros[2])], version=2, steps=1, **options,
    )  # fmt: skip


THREE = np.float32(SCALES[:3])
CASES += [
    back(X, 14, 12, THREE),
    back(X, 14, 12, THREE, bias=True, fused_activation_function="RELU"),
    back(X, 15, 13, THREE, padding="VALID", y=("INT8", 2.1, 3)),
    back(X, 7, 6, THREE, stride_w=1, stride_h=1, kernel=(2, 3)),
    back(S, 10, 12, THREE, y=("INT16", 0.05, 0)),
    product(integers(32, (2, 5, 7)), integers(33, (2, 7, 4)), 0.9),
    product(integers(32, (2, 7, 5)), integers(33, (2, 4, 7)), 0.9, adj_x=True, adj_y=True),
    product(integers(32, (2, 5, 7)), integers(33, (1, 7, 4)), 0.9),
    product(integers(34, (3, 5, 8), -3, 4), integers(35, (3, 6, 8)), 0.00871, adj_y=True),
    product(integers(38, (2, 5, 7), -32768, 32768, np.int16), integers(39, (7, 4)), 2.9, (0, 0, 0)),
    product(integers(38, (2, 5, 7), -32768, 32768, np.int16),
            integers(39, (2, 4, 7)), 2.9, (0, 0, 0), adj_y=True),
    product(integers(36, (2, 5, 7), -32768, 32768, np.int16),
            integers(37, (2, 7, 4), -32768, 32768, np.int16),
            700.0, (0, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_convolution(c):
    check("quantized_convolution", c)


def test_all_sizes_after_a_convolution_are_known_to_the_engine():
    """So that a SAME padding is constant, and no op computes it."""
    image, kernel = Operand(UINT8, (1, 4, 9, 8)), Operand(INT8, (6, 4, 3, 3))
    (shape,) = infer_shapes(
        "QLinearConv", [image, None, None, kernel], {"strides": [2, 2], "pads": [1] * 4}, 1
    )
    assert shape == (1, 6, 5, 4)
    rows, columns = Operand(UINT8, (2, 5, 7)), Operand(UINT8, (2, 7, 3))
    assert infer_shapes("QLinearMatMul", [rows, None, None, columns], {}, 1) == [(2, 5, 3)]


def test_channels_that_are_not_in_the_file_are_not_counted():
    """Two factors for each of them would take 8 GB."""
    file = tfport.load(conv(X, W, 0.01).model).lite
    file.subgraphs[0].tensors[1].shape = (2**28, 3, 2, 4)
    refusal = tfport.load(lite_bytes(file)).no_graph
    assert "the constant `in1` has the shape [268435456, 3, 2, 4] and 144 elements" in refusal
