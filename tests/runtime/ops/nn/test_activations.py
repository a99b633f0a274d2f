import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    c64,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    numbers,
    scalar,
    u8,
    u16,
    u32,
    u64,
)

NAN, INF = np.nan, np.inf
ALL = (NAN, INF, -INF, 0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, 7, 1e-4, 20, -20, 88)
SAFE = (1, -1, 0.5, -0.5, 2.5, -2.5, 7, 1e-4, 20, -20, 0)
FLOATS = (f32, f64, f16, bf16)
INTEGERS = (i8, i16, i32, i64)
PLAIN = ["Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign"]
GRADIENTS = (
    "ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad SoftsignGrad SigmoidGrad TanhGrad RsqrtGrad "
    "SqrtGrad ReciprocalGrad InvGrad"
)

CASES = [
    *(case(op, kind(*ALL)) for op in PLAIN for kind in FLOATS),
    *(case("LeakyRelu", kind(*ALL), alpha=alpha) for kind in FLOATS for alpha in (0.2, 0.0, 1.5)),
    *(case(op, kind(-5, 0, 3, 9)) for op in ("Relu", "Relu6") for kind in INTEGERS),
    *(case(op, kind(5, 0, 3, 9)) for op in ("Relu", "Relu6") for kind in (u8, u16, u32, u64)),
    *(case(op, numbers(3, 4, kind=np.float32)) for op in ("Softmax", "LogSoftmax")),
    *(case(op, kind([1, 2, 3], [100, -100, 0])) for op in ("Softmax", "LogSoftmax") for kind in FLOATS),
    *(case(op, numbers(2, 3, 4)) for op in ("Softmax", "LogSoftmax")),
    *(case(op, f32(1, 2, -INF)) for op in ("Softmax", "LogSoftmax")),
    *(case(op, f32([-INF, -INF])) for op in ("Softmax", "LogSoftmax")),
    *(
        case(op, np.zeros(shape, np.float32))
        for op in ("Softmax", "LogSoftmax")
        for shape in ((2, 0), (0, 2))
    ),
    *(case(op, scalar(1, np.float32), fails=True) for op in ("Softmax", "LogSoftmax")),
    *(
        case(op, kind(1, 2, 3, -4, 5, 6), kind(6, 0, -1, 3, -0.5, 0.5))
        for op in GRADIENTS.split()
        for kind in FLOATS
    ),
    *(case("LeakyReluGrad", kind(1, 2, 3), kind(1, 0, -1), alpha=0.25) for kind in FLOATS),
    *(
        case(op, c64(1 + 2j, -1), c64(0.5 - 1j, 2j))
        for op in ["SigmoidGrad", "TanhGrad", "RsqrtGrad", "SqrtGrad", "ReciprocalGrad", "InvGrad"]
    ),
    *(case(op, kind(1, 2, 3), kind(1, 0, 9)) for op in ("ReluGrad", "Relu6Grad") for kind in (i8, i32, u8)),
    case("ReluGrad", f32(1, 2, NAN, INF, 3), f32(NAN, -1, -1, -1, 0)),
    case("Relu6Grad", f32(1, 2, 3, NAN), f32(6, 0, NAN, -1)),
    case("ReluGrad", f32(1, 2), f32(1), fails=True, ways=("host",)),
    case("SigmoidGrad", f32(1, 2), f32(1), fails=True, ways=("host",)),
    *(case("L2Loss", kind([1, 2], [3, -4])) for kind in FLOATS),
    case("L2Loss", np.zeros((0,), np.float32)),
    case("L2Loss", scalar(3, np.float32)),
    *(case(op, kind(1, 2), message="m") for op in ("CheckNumerics", "CheckNumericsV2") for kind in FLOATS),
    *(
        case(op, f32(1, bad), message="m", fails=True)
        for op in ("CheckNumerics", "CheckNumericsV2")
        for bad in (NAN, INF, -INF)
    ),
    *(
        case(
            "SoftmaxCrossEntropyWithLogits", kind([1, 2, 3], [1, -50, 60]), kind([0, 0, 1], [0.5, 0.25, 0.25])
        )
        for kind in FLOATS
    ),
    case("SoftmaxCrossEntropyWithLogits", f32([1, 2, 3], [1, 2, 0]), f32([0, 0, 1])),
    case("SoftmaxCrossEntropyWithLogits", f32([1], [2]), f32([0, 0, 1])),
    case("SoftmaxCrossEntropyWithLogits", f32([1, 2, 3]), f32([0, 0]), fails=True),
    case("SoftmaxCrossEntropyWithLogits", f32(1, 2), f32(0, 1), fails=True),
    case("SoftmaxCrossEntropyWithLogits", np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)),
    case("SoftmaxCrossEntropyWithLogits", np.zeros((3, 0), np.float32), np.zeros((3, 0), np.float32)),
    *(
        case("SparseSoftmaxCrossEntropyWithLogits", kind([1, 2, 3], [1, 2, -1]), labels(0, 2))
        for kind in FLOATS
        for labels in (i32, i64)
    ),
    *(
        case("SparseSoftmaxCrossEntropyWithLogits", f32([1, 2, 3], [1, 2, -1]), i32(0, label), fails=True)
        for label in (3, -1)
    ),
    case("SparseSoftmaxCrossEntropyWithLogits", f32([1, 2, 3]), i32(0, 1), fails=True),
    case("SparseSoftmaxCrossEntropyWithLogits", np.zeros((0, 3), np.float32), np.zeros((0,), np.int64)),
    case("SparseSoftmaxCrossEntropyWithLogits", np.zeros((2, 0), np.float32), i64(0, 0), fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_activations(c, ways):
    check("activations", c, ways)
