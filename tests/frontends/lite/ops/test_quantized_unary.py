"""Functions of one quantized tensor, for all values of a byte and many of 16 bits."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, out, q

I8 = np.arange(-128, 128).astype(np.int8).reshape(2, 8, 16)
U8 = np.arange(256).astype(np.uint8)
I16 = np.arange(-32768, 32768, 13).astype(np.int16)
POSITIVE = np.arange(0, 32768, 13).astype(np.int16)
CASES = [
    *(case("LOGISTIC", q(I8, scale, zero), outputs=[out("INT8", 1 / 256, -128)])
      for scale, zero in ((0.05, 0), (0.0371, 17), (0.2, -128))),
    case("LOGISTIC", q(U8, 0.0371, 128), outputs=[out("UINT8", 1 / 256, 0)]),
    *(case("LOGISTIC", q(I16, scale, 0), outputs=[out("INT16", 1 / 32768, 0)], optimized_steps=None)
      for scale in (0.0003, 2**-12, 0.001)),
    *(case("TANH", q(I8, scale, zero), outputs=[out("INT8", 1 / 128, 0)])
      for scale, zero in ((0.03, 0), (0.0171, -11))),
    case("TANH", q(U8, 0.0171, 120), outputs=[out("UINT8", 1 / 128, 128)]),
    *(case("TANH", q(I16, scale, 0), outputs=[out("INT16", 1 / 32768, 0)], optimized_steps=None)
      for scale in (0.0003, 2**-12, 2**-11, 0.0007)),
    case("ELU", q(I8, 0.0371, 17), outputs=[out("INT8", 0.03, -90)]),
    case("EXP", q(I8, 0.0171, 0), outputs=[out("INT8", 0.03, -128)]),
    case("EXP", q(I16, 0.0001, 0), outputs=[out("INT16", 0.001, 0)]),
    case("GELU", q(I8, 0.0371, 17), outputs=[out("INT8", 0.02, -110)]),
    case("GELU", q(I8, 0.0371, 17), outputs=[out("INT8", 0.02, -110)], approximate=True),
    case("GELU", q(U8, 0.0371, 117), outputs=[out("UINT8", 0.02, 11)]),
    case("GELU", q(I16, 0.0001, 0), outputs=[out("INT16", 0.0001, 0)]),
    case("LOG", q(I8, 0.0371, -20), outputs=[out("INT8", 0.03, 9)], version=2),
    case("LOG", q(I16, 0.0003, 0), outputs=[out("INT16", 0.0004, 0)], version=2),
    case("RSQRT", q(I8, 0.0371, -128), outputs=[out("INT8", 0.02, -128)], version=2),
    case("RSQRT", q(I8[:, 4:], 0.0371, -128), outputs=[out("INT8", 0.012, -30)], version=2),
    case("RSQRT", q(POSITIVE, 0.001, 0), outputs=[out("INT16", 0.001, 0)], version=3),
    case("SQRT", q(I8, 0.0371, -128), outputs=[out("INT8", 0.013, -128)], version=2),
    case("SQRT", q(POSITIVE, 0.0371, 0), outputs=[out("INT16", 0.013, 0)], version=2),
    case("ABS", q(I8, 0.0371, 17), version=2),
    case("ABS", q(I8, 0.0371, 17), outputs=[out("INT8", 0.023, -100)], version=2),
    case("ABS", q(I16, 0.0371, 0), outputs=[out("INT16", 0.043, 0)], version=3),
    case("NEG", q(I8, 0.1, 0)),
    *(case(op, q(I8, 0.0371, 17), outputs=[out("INT8", 0.0321, -100)], version=1 + (op != "RELU_N1_TO_1"))
      for op in ("RELU", "RELU6", "RELU_N1_TO_1")),
    case("RELU", q(U8, 0.0371, 117), outputs=[out("UINT8", 0.0321, 5)], version=2),
    case("RELU_0_TO_1", q(I8, 0.0371, 17), outputs=[out("INT8", 0.0321, -100)]),
    case("RELU_0_TO_1", q(U8, 0.0371, 117), outputs=[out("UINT8", 0.0121, 5)]),
    case("RELU6", q(I16, 0.0371, 0), outputs=[out("INT16", 0.0321, 0)], version=2),
    case("LEAKY_RELU", q(I8, 0.0371, 17), outputs=[out("INT8", 0.0321, -10)], version=2, alpha=0.3),
    case("LEAKY_RELU", q(I8, 0.0371, 17), outputs=[out("INT8", 0.0321, -10)], version=2, alpha=-0.3),
    case("LEAKY_RELU", q(U8, 0.0371, 117), outputs=[out("UINT8", 0.0321, 120)], version=2, alpha=0.1),
    case("LEAKY_RELU", q(I16, 0.0371, 0), outputs=[out("INT16", 0.0321, 0)], version=2, alpha=0.1),
    case("HARD_SWISH", q(I8, 0.0371, 17), outputs=[out("INT8", 0.0321, -110)]),
    case("TANH", q(I8.reshape(4, 64, 1), 0.03, 0), outputs=[out("INT8", 1 / 128, 0)]),
    case("HARD_SWISH", q(I8, 0.1, 0), outputs=[out("INT8", 0.06, -120)]),
    case("HARD_SWISH", q(U8, 0.03, 128), outputs=[out("UINT8", 0.02, 10)]),
]  # fmt: skip


for each in CASES:
    each.steps = 0 if each.op in ("LOG", "RSQRT", "SQRT", "ABS", "NEG") else 1


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_unary(c):
    check("quantized_unary", c)
