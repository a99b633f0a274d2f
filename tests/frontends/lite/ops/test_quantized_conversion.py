"""QUANTIZE and DEQUANTIZE."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, out, q

import tfport
from tfport.formats.lite.write import lite_bytes

RNG = np.random.default_rng(1)
REAL = RNG.normal(0, 6, (3, 4, 50)).astype(np.float32)
HALVES = (np.arange(-40, 40) / 4).astype(np.float32)
SMALL = np.array([0, -0.0, 1e-40], np.float32)
I8, U8 = np.arange(-128, 128).astype(np.int8), np.arange(256).astype(np.uint8)
I16 = np.arange(-32768, 32768, 7).astype(np.int16)
I32 = RNG.integers(-100_000, 100_000, 300).astype(np.int32)
CASES = [
    *(case("QUANTIZE", REAL, outputs=[out(*y)], steps=1, version=version)
      for y, version in ((("INT8", 0.0713, -5), 1), (("UINT8", 0.0713, 117), 1), (("INT16", 0.00071, 0), 2))),
    *(case("QUANTIZE", HALVES, outputs=[out(kind, 0.5, zero)])
      for kind, zero in (("INT8", 3), ("UINT8", 99))),
    case("QUANTIZE", SMALL, outputs=[out("INT8", 0.1, 3)]),
    *(case("QUANTIZE", q(x, 0.0371, zero), outputs=[out(*y)], steps=1, version=3)
      for x, zero in ((I8, 5), (U8, 130))
      for y in (("INT8", 0.0371, 5 - 3), ("UINT8", 0.0217, 120), ("INT8", 0.11, -9))),
    *(case("QUANTIZE", q(I16, 0.00137, 0), outputs=[out(*y)], steps=1, version=3)
      for y in (("INT8", 0.39177, 3), ("INT16", 0.0021, 0))),
    *(case("QUANTIZE", q(I32, 0.00137, 0), outputs=[out(*y)], steps=1, version=3)
      for y in (("INT8", 0.39177, 3), ("INT16", 0.0121, 0))),
    case("QUANTIZE", q(I16, 0.00137, 0), outputs=[out("INT32", 0.00011, 0)], steps=1, version=3),
    case("QUANTIZE", q(I16, 0.00049, 0), outputs=[out("INT32", 1.49e-7, 0)], steps=1, version=3),
    *(case("DEQUANTIZE", q(x, 0.0371, zero), outputs=[out("FLOAT32")], version=3)
      for x, zero in ((I8, 5), (U8, 130), (I16, 0))),
    case("DEQUANTIZE", q(I8.reshape(4, 64), (0.1, 0.05, 0.2, 0.07), (0, 3, -7, 100)),
         outputs=[out("FLOAT32")], version=5),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_conversion(c):
    check("quantized_conversion", c)


@pytest.mark.parametrize(("x", "scaled", "type", "says"), [
    (q(I8, 0.0371, 5), False, "INT8", "its output has no scale"),
    (q(I32, 0.00137, 0), True, "UINT8", "its output is uint8, expected int8, int16 or int32"),
    (REAL, True, "INT2", "its output is int2, expected integers of 4, 8 or 16 bits"),
])  # fmt: skip
def test_other_outputs_are_refused(x, scaled, type, says):
    file = tfport.load(case("QUANTIZE", x, outputs=[out("INT8", 0.39177, 3)], version=3).model).lite
    output = file.subgraphs[0].tensors[-1]
    output.type, output.quantization = type, output.quantization if scaled else None
    assert says in tfport.load(lite_bytes(file)).no_graph
