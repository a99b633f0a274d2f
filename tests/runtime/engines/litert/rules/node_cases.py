"""Small models for each node that is translated: how they are built, and the sizes of their inputs."""

import numpy as np
from tests.runtime.engines.litert.translated import IMAGE, RNG, SmallModel, floats, number, one

from tfport.graph.dtypes import FLOAT32

CASES = {
    **{op: one(op) for op in ("Abs", "Elu", "Exp", "HardSigmoid", "HardSwish", "Neg", "Relu")},
    **{op: one(op) for op in ("Reciprocal", "Sigmoid", "Tanh")},
    "Add": one("Add", IMAGE, IMAGE),
    "Add of channels": (lambda b, x: b.Add(b.Relu(x), floats(b, 4, 1, 1)), IMAGE),
    "Add of a shorter one": one("Add", IMAGE, (6, 1)),
    "Add of turned ones": (lambda b, x, y: b.Add(b.Transpose(x, perm=[0, 2, 3, 1]), y), IMAGE, (1, 6, 5, 4)),
    "AveragePool": one("AveragePool", kernel_shape=[3, 2], strides=[2, 2]),
    "AveragePool that is padded": one("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[0, 1, 1, 1]),
    "BatchNormalization": (
        lambda b, x: b.BatchNormalization(
            x,
            *(floats(b, 4) for _ in range(3)),
            b.const(RNG.random(4, np.float32) + 0.1, FLOAT32),
            epsilon=0.01,
        ),
        IMAGE,
    ),
    "Cast": (lambda b, x: b.cast(x, FLOAT32), (2, 3)),
    "Clip to 6": (lambda b, x: b.Clip(x, number(b, 0), number(b, 6)), IMAGE),
    "Clip below": (lambda b, x: b.Clip(x, number(b, -0.5), None), IMAGE),
    "Clip to others": (lambda b, x: b.Clip(x, number(b, -0.25), number(b, 0.75)), IMAGE),
    "Concat": one("Concat", (1, 4, 6, 5), (1, 3, 6, 5), axis=1),
    "Concat of a constant": (lambda b, x: b.Concat(x, floats(b, 1, 2, 6, 5), axis=-3), IMAGE),
    "Conv": (lambda b, x: b.Conv(x, floats(b, 7, 4, 3, 3), floats(b, 7), pads=[1, 1, 1, 1]), IMAGE),
    "Conv in groups": (lambda b, x: b.Conv(x, floats(b, 6, 2, 3, 3), None, group=2), IMAGE),
    "Conv of one channel": (lambda b, x: b.Conv(x, floats(b, 6, 1, 3, 3), None), (2, 1, 6, 5)),
    "Conv of rows": (
        lambda b, x: b.Conv(x, floats(b, 6, 4, 3), floats(b, 6), pads=[2, 0], dilations=[2]),
        (2, 4, 9),
    ),
    "Conv and then flat": (lambda b, x: b.Flatten(b.Conv(x, floats(b, 7, 4, 3, 3), None)), IMAGE),
    "ConvTranspose": (
        lambda b, x: b.ConvTranspose(x, floats(b, 4, 3, 2, 2), floats(b, 3), strides=[2, 2]),
        IMAGE,
    ),
    "ConvTranspose of rows": (
        lambda b, x: b.ConvTranspose(x, floats(b, 4, 3, 4), None, strides=[2]),
        (1, 4, 7),
    ),
    "DepthToSpace": one("DepthToSpace", (2, 8, 3, 2), blocksize=2),
    "Div": (lambda b, x: b.Div(x, floats(b, 5)), IMAGE),
    "Div of two": one("Div", IMAGE, IMAGE),
    "Div of a constant": (lambda b, x: b.Div(floats(b, 6, 5), x), IMAGE),
    "Flatten": one("Flatten", axis=2),
    "Gather": (lambda b, x: b.Gather(x, b.ints(0, 2, 2, -1), axis=2), IMAGE),
    "Gather of channels": (
        lambda b, x: b.Gather(b.Conv(x, floats(b, 7, 4, 3, 3), None), b.ints(6, 1), axis=1),
        IMAGE,
    ),
    "Gelu": one("Gelu", approximate="tanh"),
    "Gemm": (lambda b, x: b.Gemm(x, floats(b, 5, 3), floats(b, 3)), (2, 5)),
    "Gemm of turned weights": (lambda b, x: b.Gemm(x, floats(b, 3, 5), None, transB=1), (2, 5)),
    "GlobalAveragePool": one("GlobalAveragePool"),
    "GlobalMaxPool": one("GlobalMaxPool"),
    "Identity": (lambda b, x: b.Relu(b.Identity(x)), IMAGE),
    "LeakyRelu": one("LeakyRelu", alpha=0.3),
    "Sqrt": (lambda b, x: b.Sqrt(b.Abs(x)), IMAGE),
    "MatMul": (lambda b, x: b.MatMul(x, floats(b, 5, 3)), IMAGE),
    "MatMul of two": one("MatMul", (2, 3, 4, 5), (2, 3, 5, 6)),
    "Max": one("Max", IMAGE, IMAGE, IMAGE),
    "MaxPool": one("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
    "MaxPool that is padded": one("MaxPool", kernel_shape=[3, 3], strides=[1, 1], auto_pad="SAME_UPPER"),
    "MaxPool of rows": one("MaxPool", (1, 3, 8), kernel_shape=[2], strides=[2]),
    "Min": one("Min", IMAGE, IMAGE),
    "Mul": one("Mul", IMAGE, (1, 4, 1, 1)),
    "PRelu": (lambda b, x: b.PRelu(x, floats(b, 4, 1, 1)), IMAGE),
    "PRelu with one slope": (lambda b, x: b.PRelu(x, floats(b, 1)), IMAGE),
    "PRelu of turned channels": (
        lambda b, x: b.PRelu(b.Transpose(x, perm=[0, 3, 2, 1]), floats(b, 5, 1, 1)),
        IMAGE,
    ),
    "Pad": (lambda b, x: b.Pad(x, b.ints(0, 1, 0, 2, 0, 0, 3, 0), number(b, 0)), IMAGE),
    "Pad of turned ones": (
        lambda b, x: b.Pad(b.Transpose(x, perm=[0, 2, 3, 1]), b.ints(0, 1, 0, 2, 0, 0, 3, 0)),
        IMAGE,
    ),
    "Reshape": (lambda b, x: b.Reshape(x, b.ints(0, -1, 10)), IMAGE),
    "Reshape to a computed shape": (
        lambda b, x, y: b.Reshape(x, b.Concat(b.Shape(y, start=0, end=1), b.ints(-1), axis=0)),
        IMAGE,
        (3, 2),
    ),
    "Resize": (
        lambda b, x: b.Resize(
            x, None, None, b.ints(1, 4, 9, 11), mode="linear", coordinate_transformation_mode="half_pixel"
        ),
        IMAGE,
    ),
    "Resize with corners": (
        lambda b, x: b.Resize(
            x, None, None, b.ints(1, 4, 3, 10), mode="linear", coordinate_transformation_mode="align_corners"
        ),
        IMAGE,
    ),
    "Resize from edges": (
        lambda b, x: b.Resize(
            x, None, None, b.ints(1, 4, 12, 10), mode="linear", coordinate_transformation_mode="asymmetric"
        ),
        IMAGE,
    ),
    "Slice": (lambda b, x: b.Slice(x, b.ints(1, -3), b.ints(3, 100), b.ints(1, 3)), IMAGE),
    "Slice with steps": (
        lambda b, x: b.Slice(x, b.ints(1, 0), b.ints(6, 5), b.ints(2, 3), b.ints(2, 3)),
        IMAGE,
    ),
    "Slice with steps of turned ones": (
        lambda b, x: b.Slice(b.Transpose(x, perm=[0, 2, 3, 1]), b.ints(1), b.ints(100), b.ints(3), b.ints(2)),
        IMAGE,
    ),
    "Div by a number of elements": (
        lambda b, x: b.Div(x, b.cast(b.nodes("ReduceProd", b.Shape(x), keepdims=0)[0], FLOAT32)),
        IMAGE,
    ),
    "Softmax": one("Softmax", axis=-1),
    "Softmax of channels": one("Softmax", axis=1),
    "SpaceToDepth": one("SpaceToDepth", (2, 3, 4, 6), blocksize=2),
    "Split": (lambda b, x: b.nodes("Split", x, b.ints(1, 3), outputs=2, axis=1), IMAGE),
    "Split evenly": (lambda b, x: b.nodes("Split", x, outputs=2, axis=2, num_outputs=2), IMAGE),
    "Squeeze": (lambda b, x: b.Squeeze(x, b.ints(0)), IMAGE),
    "Squeeze of turned ones": (lambda b, x: b.Squeeze(b.Transpose(x, perm=[0, 2, 1]), b.ints(0)), (1, 3, 4)),
    "Sub": one("Sub", (6, 1), IMAGE),
    "Sum": one("Sum", IMAGE, IMAGE, IMAGE),
    "Transpose": one("Transpose", perm=[2, 0, 3, 1]),
    "Transpose twice": (
        lambda b, x: b.Transpose(b.Relu(b.Transpose(x, perm=[1, 2, 0, 3])), perm=[3, 0, 2, 1]),
        IMAGE,
    ),
    "Unsqueeze": (lambda b, x: b.Unsqueeze(x, b.ints(1, -1)), (3, 4)),
    "Unsqueeze of turned ones": (lambda b, x: b.Unsqueeze(b.Transpose(x, perm=[1, 0]), b.ints(1)), (3, 4)),
}
for _op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"):
    CASES[_op] = (lambda b, x, op=_op: getattr(b, op)(x, b.ints(2, 3), keepdims=1), IMAGE)
    CASES[f"{_op} of all"] = (lambda b, x, op=_op: getattr(b, op)(x, keepdims=0), IMAGE)
    CASES[f"{_op} without axes"] = (lambda b, x, op=_op: getattr(b, op)(x, b.ints(-1, 1), keepdims=0), IMAGE)


def small_model(case: str) -> SmallModel:
    build, *sizes = CASES[case]
    return SmallModel(build, *sizes, dtype="int32" if case == "Cast" else "float32")
