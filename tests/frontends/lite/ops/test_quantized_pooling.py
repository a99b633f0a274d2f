"""Pooling, resizing and joining of quantized tensors."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q
from tests.runtime.cases import i32


def integers(seed, shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


X, U, S = integers(1, (2, 7, 6, 5)), integers(2, (1, 6, 7, 4), np.uint8), integers(3, (1, 5, 6, 4), np.int16)


def pool(op, x, height, width, padding="VALID", stride=2, activation="NONE", **options):
    return case(
        op, x, padding=padding, stride_w=stride, stride_h=stride, filter_width=width, filter_height=height,
        fused_activation_function=activation, options_type="Pool2DOptions", version=2, **options,
    )  # fmt: skip


def resize(x, height, width, **options):
    options = {"align_corners": False, "half_pixel_centers": False} | options
    return case("RESIZE_BILINEAR", x, const(i32(height, width)), steps=1, version=3, **options)


def concat(*values, axis=0, **options):
    return case("CONCATENATION", *values, axis=axis, fused_activation_function="NONE", **options)


CASES = [
    *(
        pool(op, x, height, width, padding, activation=activation)
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D")
        for x in (q(X, 0.1, 4), q(U, 0.1, 100))
        for height, width, padding, activation in (
            (2, 2, "VALID", "NONE"), (3, 2, "SAME", "NONE"), (3, 3, "SAME", "RELU6"), (5, 5, "VALID", "RELU"),
        )
    ),
    pool("AVERAGE_POOL_2D", q(S, 0.1), 2, 3, steps=1),
    pool("MAX_POOL_2D", q(S, 0.1), 2, 3, "SAME"),
    *(resize(q(x, 0.1, 3), height, width)
      for x in (X, U) for height, width in ((14, 12), (5, 9), (1, 1), (7, 6))),
    *(resize(q(x, 0.1, 3), 13, 4, **how)
      for x in (X, U) for how in ({"align_corners": True}, {"half_pixel_centers": True})),
    resize(q(S, 0.1), 9, 4, half_pixel_centers=True),
    concat(q(X, 0.1, 3), q(X[:, :, :2], 0.1, 3), axis=2, version=2),
    concat(q(U, 0.1, 3), q(U, 0.13, 7), q(U, 0.07, 100), axis=-1, outputs=[out("UINT8", 0.11, 50)],
           steps=1),
    concat(q(S, 0.1), q(S, 0.1), axis=1, version=3),
    *(case("PAD", q(x, 0.1, 3), const(i32(0, 0, 1, 2, 0, 1, 0, 0).reshape(4, 2)), version=2)
      for x in (X, U)),
    case("PADV2", q(X, 0.1, 3), const(i32(0, 0, 1, 2, 0, 1, 0, 0).reshape(4, 2)),
         const(q(np.int8(-7), 0.1, 3)), version=2),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_pooling(c):
    check("quantized_pooling", c)
