"""Numbers that kernels of old releases would compute with less precision."""

import numpy as np
import pytest
from ml_dtypes import bfloat16
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.recorded_models import graph
from tests.runtime.cases import f16, f32, f64, i32

import tfport
from tfport.fix.rules.math.precision import angles_in_double, as_raw_bytes, rounded_by_bits
from tfport.graph.build import graph_to_def

CAST = "y = Cast(x) {SrcT=%s, DstT=bfloat16}"
TIES = f32(1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 0, -0.0, 1e-40)
CASES = [
    *[rule_case(angles_in_double, f"y = {op}(x) {{T=float32}}", x=f32(0, 1e6, -3e8, np.inf, np.nan))
      for op in ("Sin", "Cos")],
    rule_case(rounded_by_bits, CAST % "float32", x=TIES),
    rule_case(rounded_by_bits, CAST % "float32", x=np.linspace(-3, 3, 1001, dtype=np.float32)),
    rule_case(rounded_by_bits, CAST % "float64", x=f64(1e300, 1 / 3, -2 / 3)),
    rule_case(rounded_by_bits, CAST % "float16", x=f16(1 / 3, 65504)),
    rule_case(rounded_by_bits, CAST % "int32", x=i32(2**31 - 1, 257, -259)),
    rule_case(as_raw_bytes, "y = Const() {dtype=bfloat16, value=bfloat16(2)[0.5, -3]}"),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_what_is_cut_off_is_zero():
    text = "x = Placeholder() {dtype=float32, shape=(?,)}\n" + CAST % "float32"
    model = graph_to_def(graph(text)).SerializeToString()
    fixed = tfport.fix(model, target="tensorflow==1.4.1", fetches=["y"])
    before = next(node for node in fixed.model.graph.nodes.values() if node.op == "Select").name
    numbers = np.linspace(-3, 3, 1001, dtype=np.float32)
    (kept,) = tfport.Session(fixed.model).run([f"{before}:0"], {"x:0": numbers})
    np.testing.assert_array_equal(kept, numbers.astype(bfloat16).astype(np.float32))


def test_refuses():
    assert_refuses(rounded_by_bits, CAST % "complex64", because="complex numbers", x=np.ones(2, np.complex64))
    truncates = CAST.replace("}", ", Truncate=true}") % "float32"
    assert_refuses(rounded_by_bits, truncates, because="cuts bits off", x=TIES)
