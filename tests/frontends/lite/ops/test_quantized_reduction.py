"""Reductions, softmax and normalization of quantized tensors."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q
from tests.runtime.cases import i32


def integers(seed, shape, dtype=np.int8, low=None):
    info = np.iinfo(dtype)
    first = info.min if low is None else low
    return np.random.default_rng(seed).integers(first, info.max + 1, shape).astype(dtype)


X, U, S = integers(1, (2, 7, 6, 5)), integers(2, (3, 6, 4), np.uint8), integers(3, (4, 60), np.int16)
LOGITS = np.random.default_rng(4).normal(0, 40, (30, 11)).clip(-128, 127).astype(np.int8)


def reduce(op, x, axes, y, keep_dims=False, **options):
    return case(op, x, const(i32(*axes)), outputs=[out(*y)], options_type="ReducerOptions",
                keep_dims=keep_dims, version=2, **{"steps": 1} | options)  # fmt: skip


CASES = [
    reduce("MEAN", q(X, 0.1, 3), (1, 2), ("INT8", 0.0217, -5)),
    reduce("MEAN", q(X, 0.1, 3), (1, 2), ("INT8", 0.0217, -5), keep_dims=True),
    reduce("MEAN", q(X, 0.1, 3), (-1,), ("INT8", 0.1, 3)),
    reduce("MEAN", q(X, 0.0371, 3), (0, 1, 2, 3), ("INT8", 0.001, 9)),
    reduce("MEAN", q(U, 0.1, 120), (1,), ("UINT8", 0.0317, 110)),
    reduce("MEAN", q(S, 0.001), (1,), ("INT16", 0.0003, 0)),
    reduce("SUM", q(U, 0.1, 120), (1,), ("UINT8", 0.317, 110)),
    reduce("SUM", q(integers(6, (3, 6, 4), low=0), 0.1, 0), (1,), ("INT8", 0.617, 1), optimized_steps=2),
    reduce("REDUCE_MAX", q(X, 0.1, 3), (1, 2), ("INT8", 0.1, 3), steps=0),
    reduce("REDUCE_MIN", q(U, 0.1, 3), (1,), ("UINT8", 0.1, 3), steps=0),
    reduce("REDUCE_PROD", q(integers(7, (2, 3)), 0.02, 3), (1,), ("INT8", 0.03, -5)),
    reduce("REDUCE_PROD", q(integers(8, (2, 4, 3)), 0.014, 3), (1,), ("INT8", 0.03, -5), keep_dims=True),
    *(case("SOFTMAX", q(x, scale, zero), outputs=[out(*y)], beta=beta, version=version, steps=steps,
           optimized_steps=None if y[0] == "INT16" else 1)
      for x, zero, version, y, steps in (
          (LOGITS, 5, 2, ("INT8", 1 / 256, -128), 1),
          (LOGITS.view(np.uint8) ^ 128, 120, 1, ("UINT8", 1 / 256, 0), 1),
          (LOGITS.astype(np.int16) * 200, 0, 3, ("INT16", 1 / 32768, 0), 0),
          (LOGITS, 5, 3, ("INT16", 1 / 65536, -32768), 4),
      )
      for scale, beta in ((0.0371, 1.0), (0.0017 if y[0] == "INT16" else 0.2, 0.7))),
    case("LOG_SOFTMAX", q(LOGITS, 0.0371, 5), outputs=[out("INT8", 1 / 16, 127)], version=2, steps=1),
    case("LOG_SOFTMAX", q(LOGITS.view(np.uint8) ^ 128, 0.2, 5), outputs=[out("UINT8", 1 / 16, 255)], steps=1),
    case("L2_NORMALIZATION", q(X, 0.1, 3), outputs=[out("INT8", 1 / 128, 0)], version=2, steps=1,
         fused_activation_function="NONE", options_type="L2NormOptions"),
    case("L2_NORMALIZATION", q(U, 0.1, 130), outputs=[out("UINT8", 1 / 128, 128)], steps=1,
         fused_activation_function="NONE", options_type="L2NormOptions"),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_reduction(c):
    check("quantized_reduction", c)
