"""Operators with real activations and integer weights, and constants in float16."""

from functools import partial

import numpy as np
import pytest
from tests.frontends.lite.cases import LiteInput, case, check, checks, const, graph_case, out, q, tensor_bytes
from tests.runtime.cases import numbers

from tfport.formats.lite.records import (
    LiteFile,
    LiteOperator,
    LiteTensor,
    OperatorCode,
    Subgraph,
    TensorQuantization,
)

dense = partial(case, "FULLY_CONNECTED", options_type="FullyConnectedOptions", version=3)
conv = partial(case, "CONV_2D", options_type="Conv2DOptions", stride_w=1, stride_h=1, version=2)
depthwise = partial(
    case,
    "DEPTHWISE_CONV_2D",
    options_type="DepthwiseConv2DOptions",
    stride_w=1,
    stride_h=1,
    depth_multiplier=1,
)
matmul = partial(case, "BATCH_MATMUL", options_type="BatchMatMulOptions", version=4)


def i8(*shape: int, seed: int = 0) -> np.ndarray:
    """Random integers of 8 bits."""
    return np.random.default_rng([seed, *shape]).integers(-127, 128, shape).astype(np.int8)


def weights(*shape: int, axis: int | None = None, type: str = "") -> LiteInput:
    """Constant weights, with a scale each along an axis or one for all."""
    low = {"INT4": 7, "INT2": 1}.get(type, 127)
    scale = 0.02 if axis is None else np.linspace(0.01, 0.05, shape[axis])
    array = (i8(*shape).astype(np.int32) * low // 127).astype(np.uint8 if type == "UINT8" else np.int8)
    return const(q(array, scale, axis=axis or 0, type=type))


X, BIAS = numbers(2, 5, 7, 3), const(numbers(4))
ZEROS = np.concatenate([numbers(1, 6), np.zeros((1, 6), np.float32)])
CASES = [
    *(
        dense(x, w, bias, asymmetric_quantize_inputs=asymmetric, fused_activation_function=activation)
        for asymmetric in (False, True)
        for x, w, bias, activation in (
            (numbers(3, 6), weights(4, 6), BIAS, "NONE"),
            (numbers(3, 6, low=0.5), weights(4, 6), None, "RELU"),
            (numbers(1, 6, high=-0.5), weights(4, 6), BIAS, "RELU6"),
            (ZEROS, weights(4, 6), BIAS, "TANH"),
            (numbers(2, 3, 6), weights(4, 6), BIAS, "NONE"),
        )
    ),
    dense(numbers(3, 6), weights(4, 6, axis=0), BIAS, version=12),
    dense(numbers(3, 6), weights(4, 6), const(numbers(1, 4))),
    dense(numbers(3, 6), weights(4, 6, axis=0), BIAS, version=12, asymmetric_quantize_inputs=True),
    dense(numbers(3, 6), weights(4, 6, type="UINT8"), BIAS, version=2),
    dense(numbers(3, 6), weights(4, 6, type="INT4"), BIAS, version=10),
    dense(numbers(2, 3, 6), weights(4, 6), BIAS, keep_num_dims=True, version=9),
    *(
        conv(X, w, BIAS, padding=padding, version=version, fused_activation_function=activation)
        for padding in ("SAME", "VALID")
        for w, version, activation in (
            (weights(4, 3, 2, 3), 2, "NONE"),
            (weights(4, 3, 2, 3, axis=0), 5, "RELU"),
            (weights(4, 1, 1, 3, axis=0), 5, "RELU6"),
        )
    ),
    conv(numbers(1, 4, 4, 6), weights(4, 3, 3, 3, axis=0), BIAS, padding="SAME", version=6),
    conv(X, weights(4, 3, 2, 3), BIAS, padding="SAME", version=4, dilation_h_factor=2, dilation_w_factor=2),
    *(
        depthwise(
            X,
            weights(1, 3, 2, 3 * m, axis=3),
            const(numbers(3 * m)),
            padding=padding,
            version=6,
            depth_multiplier=m,
        )
        for padding, m in (("SAME", 1), ("VALID", 2))
    ),
    *(
        matmul(x, w, adj_x=adj_x, adj_y=adj_y, asymmetric_quantize_inputs=asymmetric)
        for asymmetric in (False, True)
        for x, w, adj_x, adj_y in (
            (numbers(2, 3, 4), weights(2, 4, 5), False, False),
            (numbers(2, 4, 3), weights(2, 5, 4), True, True),
            (numbers(3, 4), weights(4, 5), False, False),
        )
    ),
    case("DEQUANTIZE", const(numbers(2, 3).astype(np.float16)), outputs=[out("FLOAT32")], version=3),
    case("DEQUANTIZE", numbers(2, 3).astype(np.float16), outputs=[out("FLOAT32")], version=3),
]


def blockwise(rows=4, columns=64, block=32, bias=None):
    """Weights of 4 bits with a scale for each block of a row, in another tensor."""
    x = LiteTensor("x", "FLOAT32", (2, columns))
    blocks = {"scales": 2, "zero_points": -1, "block_size": block}
    details = TensorQuantization(details=blocks, details_type="BlockwiseQuantization")
    matrix = LiteTensor("weights", "INT4", (rows, columns), 1, details)
    scales = LiteTensor("scales", "FLOAT16", (rows, columns // block), 2)
    y = LiteTensor("y", "FLOAT32", (2, rows))
    buffers = [
        b"",
        tensor_bytes(i8(rows, columns) % 16 - 8, "INT4"),
        numbers(rows, columns // block, low=0.01, high=0.1).astype(np.float16).tobytes(),
    ]
    code = OperatorCode("FULLY_CONNECTED", 9, 13)
    inputs = (0, 1, -1)
    tensors = [x, matrix, scales, y]
    if bias is not None:
        inputs = (0, 1, 4)
        tensors.append(LiteTensor("bias", "FLOAT32", (rows,), 3))
        buffers.append(bias.tobytes())
    options = {"asymmetric_quantize_inputs": True}
    operator = LiteOperator(code, inputs, (3,), options, "FullyConnectedOptions")
    file = LiteFile(
        "case", 3, "", [code], [Subgraph("main", tensors, [operator], (0,), (3,))], [], buffers, []
    )
    return graph_case("FULLY_CONNECTED", file, numbers(2, columns), optimized=True)


CASES += [blockwise(), blockwise(rows=8, columns=96, bias=numbers(8)), blockwise(columns=128, block=64)]


@pytest.mark.parametrize("c", checks(CASES))
def test_hybrid(c):
    check("hybrid", c)
