"""Small models for each node that is translated: how they are built, and the sizes of their inputs."""

import numpy as np
from tests.runtime.engines.litert.translated import IMAGE, RNG, SmallModel, floats, number, one

from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType

FLOAT16 = DType.parse("float16")
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
    "Reshape to a computed shape with zeros": (
        lambda b, x, y: b.Reshape(x, b.cast(b.Mul(y, number(b, 0)), INT64)),
        IMAGE,
        (4,),
    ),
    "MaxPool in float16, its channels moved": (
        lambda b, x: b.cast(
            b.Reshape(
                b.nodes("MaxPool", b.cast(x, FLOAT16), kernel_shape=[2, 2], strides=[2, 2])[0], b.ints(4, 6)
            ),
            FLOAT32,
        ),
        IMAGE,
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
    **{op: one(op) for op in ("Ceil", "Cos", "Erf", "Floor", "Round", "Selu", "Sign", "Sin", "Softplus")},
    "ArgMax": (lambda b, x: b.cast(b.nodes("ArgMax", x, axis=1, keepdims=1)[0], FLOAT32), IMAGE),
    "ArgMin": (lambda b, x: b.cast(b.nodes("ArgMin", x, axis=2, keepdims=0)[0], FLOAT32), IMAGE),
    "BitwiseAnd": (
        lambda b, x: b.cast(b.BitwiseAnd(b.cast(b.Abs(x), INT32), b.const(3, INT32)), FLOAT32),
        IMAGE,
    ),
    "ConstantOfShape": (
        lambda b, x: b.Add(x, b.nodes("ConstantOfShape", b.Shape(x), value=np.full(1, 2, np.float32))[0]),
        IMAGE,
    ),
    "Conv of volumes": (
        lambda b, x: b.Conv(x, floats(b, 2, 4, 1, 3, 2), floats(b, 2), pads=[0, 1, 0, 0, 1, 1]),
        (2, 4, 3, 5, 4),
    ),
    "CumSum": (lambda b, x: b.CumSum(x, b.const(1, INT32)), IMAGE),
    "Einsum": one("Einsum", (2, 3, 4), (4, 2, 5), equation="abc,cad->dab"),
    "Elu with another alpha": one("Elu", alpha=0.5),
    "Expand": (lambda b, x: b.Expand(x, b.ints(2, 3, 4)), (3, 1)),
    "Expand to computed sizes": (
        lambda b, x, y: b.Expand(
            x, b.int64(b.Mul(b.Clip(y, number(b, 1), number(b, 1)), b.const([2.0, 1.0, 4.0], FLOAT32)))
        ),
        (3, 1),
        (3,),
    ),
    "Gather of rows": (
        lambda b, x: b.Gather(floats(b, 5, 3), b.cast(b.Clip(x, number(b, 0), number(b, 4)), INT32)),
        (2, 4),
    ),
    "GatherND": (
        lambda b, x, y: b.GatherND(x, b.int64(b.Clip(y, number(b, 0), number(b, 1)))),
        (3, 2, 4),
        (5, 2),
    ),
    "IsInf": (
        lambda b, x: b.cast(
            b.nodes("IsInf", b.Where(b.Less(x, number(b, 0)), number(b, np.inf), x))[0], FLOAT32
        ),
        IMAGE,
    ),
    "IsNaN": (
        lambda b, x: b.cast(
            b.nodes("IsNaN", b.Where(b.Less(x, number(b, 0)), number(b, np.nan), x))[0], FLOAT32
        ),
        IMAGE,
    ),
    "InstanceNormalization": (
        lambda b, x: b.nodes("InstanceNormalization", x, floats(b, 4), floats(b, 4), epsilon=0.01)[0],
        IMAGE,
    ),
    "LayerNormalization": (
        lambda b, x: b.nodes("LayerNormalization", x, floats(b, 5), floats(b, 5), epsilon=0.01)[0],
        IMAGE,
    ),
    "Log": (lambda b, x: b.Log(b.Abs(x)), IMAGE),
    "LogSoftmax": one("LogSoftmax", axis=1),
    "MaxPool of padding that is not even": one("MaxPool", kernel_shape=[3, 3], pads=[2, 2, 0, 0]),
    "Mod": (lambda b, x: b.cast(b.Mod(b.cast(x, INT32), b.const(3, INT32)), FLOAT32), IMAGE),
    "NonMaxSuppression": (
        lambda b, x, y: b.cast(
            b.nodes("NonMaxSuppression", b.Abs(x), y, b.ints(4), number(b, 0.3), number(b, 0))[0], FLOAT32
        ),
        (1, 8, 4),
        (1, 1, 8),
    ),
    "NonZero": (lambda b, x: b.cast(b.nodes("NonZero", b.Relu(x))[0], FLOAT32), (3, 4)),
    "Not": (lambda b, x: b.cast(b.Not(b.Less(x, number(b, 0))), FLOAT32), IMAGE),
    "OneHot": (
        lambda b, x: b.cast(
            b.nodes("OneHot", b.int64(b.Abs(x)), b.ints(4), b.ints(-1, 3), axis=1)[0], FLOAT32
        ),
        (3, 2),
    ),
    "Pad by mirroring": (lambda b, x: b.Pad(x, b.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect"), IMAGE),
    "Pad that cuts": (lambda b, x: b.Pad(x, b.ints(0, 0, -1, 1, 0, 0, 1, -2), number(b, 1)), IMAGE),
    "Pow": (lambda b, x: b.Pow(b.Abs(x), number(b, 1.5)), IMAGE),
    "PRelu of an example": (lambda b, x: b.PRelu(x, floats(b, 4, 6, 5)), IMAGE),
    "Range": (
        lambda b, x: b.Range(number(b, 0), b.Squeeze(b.ReduceSum(b.Abs(x), keepdims=0)), number(b, 1)),
        (3,),
    ),
    "Slice backwards": (lambda b, x: b.Slice(x, b.ints(3), b.ints(0), b.ints(1), b.ints(-1)), IMAGE),
    "Softsign": one("Softsign"),
    "Tile": (lambda b, x: b.Tile(x, b.ints(2, 1, 3)), (2, 3, 4)),
    "Tile of an image": (
        lambda b, x: b.Tile(b.Conv(x, floats(b, 7, 4, 3, 3), None), b.ints(1, 2, 3, 1)),
        IMAGE,
    ),
    "TopK": (lambda b, x: b.nodes("TopK", x, b.ints(2), outputs=2)[0], (3, 5)),
    "TopK of the smallest": (
        lambda b, x: b.nodes("TopK", x, b.ints(2), outputs=2, axis=0, largest=0)[0],
        (4, 5),
    ),
    "Where": (lambda b, x, y: b.Where(b.Greater(x, y), x, number(b, 7)), IMAGE, (6, 1)),
    "GRU": (
        lambda b, x: b.nodes(
            "GRU",
            x,
            floats(b, 1, 9, 4),
            floats(b, 1, 9, 3),
            floats(b, 1, 18),
            outputs=2,
            hidden_size=3,
            linear_before_reset=1,
        ),
        (5, 2, 4),
    ),
    "LSTM": (
        lambda b, x: b.nodes(
            "LSTM",
            x,
            floats(b, 2, 12, 4),
            floats(b, 2, 12, 3),
            floats(b, 2, 24),
            outputs=3,
            hidden_size=3,
            direction="bidirectional",
        ),
        (5, 2, 4),
    ),
    "LSTM with hard sigmoids": (
        lambda b, x: b.nodes(
            "LSTM",
            x,
            floats(b, 1, 12, 4),
            floats(b, 1, 12, 3),
            floats(b, 1, 24),
            outputs=3,
            hidden_size=3,
            activations=["HardSigmoid", "Tanh", "HardSigmoid"],
            activation_alpha=[0.2, 0.25],
            activation_beta=[0.5, 0.4],
        ),
        (5, 2, 4),
    ),
    "GRU of sequences": (
        lambda b, x: b.nodes(
            "GRU",
            x,
            floats(b, 2, 9, 4),
            floats(b, 2, 9, 3),
            floats(b, 2, 18),
            b.const([2, 5], INT32),
            outputs=2,
            hidden_size=3,
            direction="bidirectional",
        ),
        (5, 2, 4),
    ),
    "RNN": (
        lambda b, x: b.nodes(
            "RNN", x, floats(b, 1, 3, 4), floats(b, 1, 3, 3), outputs=1, hidden_size=3, direction="reverse"
        )[0],
        (5, 2, 4),
    ),
}
for _op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
    CASES[_op] = (
        lambda b, x, y, op=_op: b.cast(getattr(b, op)(b.Floor(x), b.Floor(y)), FLOAT32),
        IMAGE,
        (6, 1),
    )
for _op in ("And", "Or", "Xor"):
    CASES[_op] = (
        lambda b, x, y, op=_op: b.cast(getattr(b, op)(b.cast(b.Relu(x), BOOL), b.Less(y, x)), FLOAT32),
        IMAGE,
        IMAGE,
    )
for _op in ("ReduceL2", "ReduceProd", "ReduceSumSquare", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"):
    CASES[_op] = (lambda b, x, op=_op: getattr(b, op)(x, b.ints(2, 3), keepdims=1), IMAGE)
    CASES[f"{_op} of all"] = (lambda b, x, op=_op: getattr(b, op)(x, keepdims=0), IMAGE)
    CASES[f"{_op} without axes"] = (lambda b, x, op=_op: getattr(b, op)(x, b.ints(-1, 1), keepdims=0), IMAGE)


def small_model(case: str) -> SmallModel:
    build, *sizes = CASES[case]
    return SmallModel(build, *sizes, dtype="int32" if case == "Cast" else "float32")
