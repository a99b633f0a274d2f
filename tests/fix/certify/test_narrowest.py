"""The narrowest type on the way to each output: through casts, functions, loops and lists."""

from __future__ import annotations

import pytest
from tests.fix.certify.models import frozen

from tfport.fix.certify.narrowest import narrowest_types
from tfport.runtime.select_signature import select_signature

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
HALF = "h = Cast(x) {SrcT=float32, DstT=float16}\nn = Neg(h) {T=float16}\n"
BACK = "y = Cast(n) {SrcT=float16, DstT=float32}\n"
CALLED = """
y = PartitionedCall(x) {Tin=[float32], Tout=[float32], f=@inner}
def inner(a: float32) -> (b: float32):
  h = Cast(a) {SrcT=float32, DstT=bfloat16}
  n = Neg(h) {T=bfloat16}
  c = Cast(n) {SrcT=bfloat16, DstT=float32}
  return b=c
"""
LOOP = """
y = While(x) {T=[float32], cond=@small, body=@step}
def small(a: float32) -> (b: bool):
  c = Const() {dtype=bool, value=bool()[false]}
  return b=c
def step(a: float32) -> (b: float32):
  h = Cast(a) {SrcT=float32, DstT=float16}
  n = Exp(h) {T=float16}
  c = Cast(n) {SrcT=float16, DstT=float32}
  return b=c
"""
LIST = """
    s = Const() {dtype=int32, value=int32(1,)[3]}
    i = Const() {dtype=int32, value=int32()[0]}
    l = TensorListFromTensor(n, s) {element_dtype=float16, shape_type=int32}
    g = TensorListGetItem(l, i, s) {element_dtype=float16}
    y = Cast(g) {SrcT=float16, DstT=float32}
"""
CASES = [  # what, graph, the type of `y` and the node that computes in it
    ("nothing narrower", X + "y = Neg(x) {T=float32}", None),
    ("half inside", X + HALF + BACK, ("float16", "n")),
    ("only converted", X + """
        h = Cast(x) {SrcT=float32, DstT=float16}
        y = Cast(h) {SrcT=float16, DstT=float32}""", ("float16", "h")),
    ("the narrower of two", X + HALF + """
        b = Cast(n) {SrcT=float16, DstT=bfloat16}
        m = Neg(b) {T=bfloat16}
        y = Cast(m) {SrcT=bfloat16, DstT=float32}""", ("bfloat16", "m")),
    ("on another way", X + HALF + "y = Neg(x) {T=float32}\nz = Cast(n) {SrcT=float16, DstT=float32}", None),
    ("weights stored in half", X + """
        w = Const() {dtype=float16, value=float16()[2]}
        v = Cast(w) {SrcT=float16, DstT=float32}
        y = Mul(x, v) {T=float32}""", None),
    ("an index that was found in half", X + HALF + """
        axis = Const() {dtype=int32, value=int32()[1]}
        i = ArgMax(n, axis) {T=float16, Tidx=int32, output_type=int64}
        y = Cast(i) {SrcT=int64, DstT=float32}""", None),
    ("fake quantization", X + "y = FakeQuantWithMinMaxArgs(x) {min=-1.0, max=1.0, num_bits=8}", None),
    ("float64 outside", X + "d = Cast(x) {SrcT=float32, DstT=float64}\ny = Neg(d) {T=float64}",
     ("float32", "x")),
    ("a half output", X + HALF + "y = Neg(n) {T=float16}", None),
    ("in a function", X + CALLED, ("bfloat16", "inner/n")),
    ("in a loop", X + LOOP, ("float16", "step/n")),
    ("through a list", X + HALF + LIST, ("float16", "n")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_narrowest_type_on_the_way(text, expected):
    model = frozen(text)
    narrowest = narrowest_types(model, select_signature(model, None, ["y"])).get("y")
    assert (narrowest and (str(narrowest), narrowest.node)) == expected
