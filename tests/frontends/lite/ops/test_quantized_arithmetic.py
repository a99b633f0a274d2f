"""Arithmetic and comparisons of two quantized tensors."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q


def integers(seed, shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


A, B = integers(1, (2, 5, 40)), integers(2, (2, 5, 40))
ROW, ONE = integers(3, (40,)), integers(4, (1,))
UA, UB = integers(5, (300,), np.uint8), integers(6, (300,), np.uint8)
SA, SB = integers(7, (300,), np.int16), integers(8, (300,), np.int16)
GENERAL = {"pot_scale_int16": False}


def two(op, x, y, scales=(0.0371, 0.0213, 0.0457), zeros=(3, -20, 5), y_const=False, **options):
    right = q(y, scales[1], zeros[1])
    kind = {"int8": "INT8", "uint8": "UINT8", "int16": "INT16"}[str(x.dtype)]
    options.setdefault("fused_activation_function", "NONE")
    return case(
        op, q(x, scales[0], zeros[0]), const(right) if y_const else right,
        outputs=[out(kind, scales[2], zeros[2])], steps=1, version=2, **options,
    )  # fmt: skip


UNSIGNED, SYMMETRIC = (120, 133, 128), (0, 0, 0)
WIDE = (0.00011, 0.00023, 0.0003)
CASES = [
    *(two(op, A, B) for op in ("ADD", "SUB", "MUL")),
    *(two(op, A, ROW, y_const=True, fused_activation_function="RELU") for op in ("ADD", "SUB", "MUL")),
    *(two(op, ONE, B, fused_activation_function="RELU6") for op in ("ADD", "SUB", "MUL")),
    *(two(op, UA, UB, zeros=UNSIGNED) for op in ("ADD", "SUB", "MUL")),
    *(two(op, SA, SB, WIDE, SYMMETRIC, **GENERAL) for op in ("ADD", "SUB")),
    two("ADD", SA, SB, (2**-12, 2**-13, 2**-12), SYMMETRIC),
    two("ADD", SA, SB, (2**-15, 2**-12, 2**-12), SYMMETRIC),
    two("MUL", SA, SB, (0.0011, 0.0023, 0.1), SYMMETRIC),
    two("MUL", A, np.array(77, np.int8), y_const=True),
    two("DIV", UA, UB // 2 + 128, (0.0371, 0.0213, 0.0457), (120, 90, 100)),
    case("SQUARED_DIFFERENCE", q(A, 0.0371, 3), q(B, 0.0213, -20), outputs=[out("INT8", 0.2, -128)],
         steps=1, version=2),
    case("SQUARED_DIFFERENCE", q(A, 0.0371, 3), q(ROW, 0.0213, -20), outputs=[out("INT8", 0.3, -100)],
         steps=1, version=2),
    *(case(op, q(A, 0.1, 3), q(ROW, 0.1, 3), version=2) for op in ("MAXIMUM", "MINIMUM")),
    *(case(op, q(UA, 0.1, 3), q(UB, 0.1, 3)) for op in ("MAXIMUM", "MINIMUM")),
    *(case(op, q(SA, 0.1), q(SB, 0.1), version=3) for op in ("MAXIMUM", "MINIMUM")),
    case("PRELU", q(A, 0.0371, 3), const(q(ROW, 0.013, 7)), outputs=[out("INT8", 0.0457, -9)], steps=1),
    case("PRELU", q(UA, 0.0371, 120), const(q(UB, 0.013, 100)), outputs=[out("UINT8", 0.0457, 90)], steps=1),
    *(case(op, q(A, 0.0371, 3), q(B, 0.0213, -20), outputs=[out("BOOL")], version=2)
      for op in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")),
    *(case(op, q(A // 16, 0.5, 3), q(ROW // 16, 0.25, -2), outputs=[out("BOOL")], version=2)
      for op in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")),
    case("LESS", q(UA, 0.5, 3), q(UB, 0.25, 30), outputs=[out("BOOL")]),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_arithmetic(c):
    check("quantized_arithmetic", c)
