import itertools

import numpy as np
import pytest
from tests.runtime.baked import baked
from tests.runtime.cases import bf16, case, check, checks, f32, i32, numbers

DOUBLE, HALF = np.float64, np.float16
NAN = f32(1, np.nan, 3, 2, -np.inf, np.nan, np.nan, 5).reshape(1, 8, 1, 1)


def square(n):
    return [1, n, n, 1]


def pool(op, x, k, s, padding="SAME", **more):
    return baked(op, x, ksize=[1, *k, 1], strides=[1, *s, 1], padding=padding, **more)


def integers(*shape, kind):
    return numbers(*shape, kind=kind, low=0 if np.dtype(kind).kind == "u" else -99, high=99)


CASES = [
    *(
        pool(op, numbers(2, size, size + 1, 3), (k, k), (s, s), padding)
        for op, size, k, s, padding in itertools.product(
            ("MaxPool", "AvgPool"), (5, 6, 7), (1, 2, 3), (1, 2, 3), ("SAME", "VALID")
        )
    ),
    *(pool(op, numbers(1, 7, 9, 2), (3, 1), (1, 4)) for op in ("MaxPool", "AvgPool")),
    *(pool(op, numbers(1, 7, 9, 2), (1, 4), (3, 2)) for op in ("MaxPool", "AvgPool")),
    *(pool(op, numbers(1, 9, 9, 2), (2, 2), (5, 4)) for op in ("MaxPool", "AvgPool")),
    *(pool(op, numbers(1, 2, 2, 2), (5, 5), (1, 1)) for op in ("MaxPool", "AvgPool")),
    *(pool(op, numbers(1, 2, 2, 2), (5, 5), (1, 1), "VALID", fails=True) for op in ("MaxPool", "AvgPool")),
    *(pool(op, numbers(0, 4, 4, 2, kind=DOUBLE), (2, 2), (2, 2)) for op in ("MaxPool", "AvgPool")),
    *(
        pool(op, numbers(1, 5, 5, 2, kind=kind), (3, 3), (2, 2))
        for op in ("MaxPool", "AvgPool")
        for kind in (DOUBLE, HALF)
    ),
    *(pool(op, bf16(*numbers(1, 5, 5, 2)), (3, 3), (2, 2)) for op in ("MaxPool", "AvgPool")),
    *(
        pool("MaxPool", integers(1, 5, 5, 2, kind=kind), (3, 3), (2, 2))
        for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64)
    ),
    pool("MaxPool", np.full((1, 4, 4, 1), -np.inf, np.float32), (3, 3), (2, 2), ways=("host",)),
    pool(
        "MaxPool", numbers(1, 5, 5, 2), (3, 3), (2, 2), "EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]
    ),
    baked("MaxPool", numbers(1, 3, 2, 6), ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3], padding="VALID"),
    baked(
        "MaxPool", numbers(1, 3, 2, 6), ksize=[1, 2, 1, 3], strides=[1, 1, 1, 3], padding="VALID", fails=True
    ),
    *(
        baked(
            op,
            numbers(1, 3, 6, 7),
            ksize=[1, 1, 3, 2],
            strides=[1, 1, 2, 2],
            padding="SAME",
            data_format="NCHW",
        )
        for op in ("MaxPool", "AvgPool")
    ),
    case("MaxPoolV2", numbers(1, 5, 6, 2), i32(1, 3, 2, 1), i32(1, 2, 2, 1), padding="SAME"),
    case("MaxPoolV2", numbers(1, 5, 6, 2), i32(1, 3, 2, 1), i32(1, 2, 1, 1), padding="VALID"),
    *(
        pool(op, numbers(1, 4, 5, 6, 2), k, s, padding)
        for op, k, s, padding in itertools.product(
            ("MaxPool3D", "AvgPool3D"), ((2, 2, 2), (1, 3, 2)), ((1, 1, 1), (2, 1, 3)), ("SAME", "VALID")
        )
    ),
    *(pool(op, bf16(*numbers(1, 3, 3, 3, 1)), (2, 2, 2), (2, 2, 2)) for op in ("MaxPool3D", "AvgPool3D")),
    *(
        pool("MaxPoolWithArgmax", numbers(2, 5, 6, 3), (k, k), (s, s), padding, include_batch_in_index=batch)
        for k, s, padding, batch in itertools.product((2, 3), (1, 2), ("SAME", "VALID"), (False, True))
    ),
    pool("MaxPoolWithArgmax", np.ones((1, 5, 5, 2), np.float32), (3, 3), (2, 2)),
    pool("MaxPoolWithArgmax", np.full((1, 5, 5, 2), -np.inf, np.float32), (3, 3), (2, 2)),
    pool("MaxPoolWithArgmax", integers(1, 5, 5, 2, kind=np.int32), (3, 3), (2, 2)),
    *(
        case(
            "MaxPoolGrad",
            numbers(2, 6, 7, 2),
            numbers(2, 3, 4, 2),
            numbers(2, 3, 4, 2, seed=1),
            ksize=square(k),
            strides=square(2),
            padding="SAME",
            ways=("engine", "host"),
        )
        for k in (2, 3)
    ),
    case(
        "MaxPoolGradV2",
        numbers(2, 6, 7, 2),
        numbers(2, 3, 3, 2),
        numbers(2, 3, 3, 2),
        i32(1, 2, 2, 1),
        i32(1, 2, 2, 1),
        padding="VALID",
    ),
    case(
        "AvgPoolGrad",
        i32(2, 6, 7, 2),
        numbers(2, 3, 4, 2),
        ksize=square(3),
        strides=square(2),
        padding="SAME",
    ),
    case(
        "AvgPoolGrad",
        i32(2, 6, 7, 2),
        numbers(2, 5, 6, 2),
        ksize=square(2),
        strides=square(1),
        padding="VALID",
    ),
    case(
        "AvgPool3DGrad",
        i32(1, 4, 4, 4, 2),
        numbers(1, 2, 2, 2, 2),
        ksize=[1, 3, 3, 3, 1],
        strides=[1, 2, 2, 2, 1],
        padding="SAME",
    ),
    case(
        "MaxPool3DGrad",
        numbers(1, 4, 4, 4, 1),
        numbers(1, 4, 4, 4, 1).reshape(2, 2, 2, 2, 2, 2).max(axis=(1, 3, 5)).reshape(1, 2, 2, 2, 1),
        numbers(1, 2, 2, 2, 1),
        ksize=[1, 2, 2, 2, 1],
        strides=[1, 2, 2, 2, 1],
        padding="SAME",
    ),
    *(pool("AvgPool", NAN, (k, 1), (1, 1), "VALID") for k in (1, 2, 3)),
    # TensorFlow ignores NaN, and returns the lowest value for windows of NaN only; ONNX Runtime returns NaN
    *(pool("MaxPool", NAN, (k, 1), (1, 1), "VALID", ways=("host",)) for k in (1, 2, 3)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_pooling(c, ways):
    check("pooling", c, ways)
