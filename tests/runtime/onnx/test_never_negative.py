"""Integers that are never negative: what is known of them, and what lowerings leave out for them."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of

from tfport.graph.dtypes import FLOAT32, INT32, INT64, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.known_values import is_never_negative
from tfport.runtime.operand import Operand

X, ANY = Operand(FLOAT32, (None, 4)), Operand(INT64, (None,))


def made(function):
    return is_never_negative(function(Builder("n")))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda b: b.Shape(X), True),
        (lambda b: b.cast(b.Shape(X), INT32), True),
        (lambda b: b.cast(b.Shape(X), DType.parse("int8")), False),
        (lambda b: b.int64(b.cast(b.Shape(X), DType.parse("int8"))), False),
        (lambda b: b.reshape(b.NonZero(X), -1), True),
        (lambda b: b.nodes("TopK", X, b.ints(1), outputs=2)[1], True),
        (lambda b: b.int64(X), False),
        (lambda b: b.Min(b.Shape(X), b.ints(100)), True),
        (lambda b: b.Min(b.Shape(X), ANY), False),
        (lambda b: b.Max(ANY, b.ints(0)), True),
        (lambda b: b.Max(ANY, b.ints(-1)), False),
        (lambda b: b.Concat(b.Shape(X), b.ints(7), axis=0), True),
        (lambda b: b.Concat(b.Shape(X), b.ints(-1), axis=0), False),
        (lambda b: b.Sub(b.Shape(X), b.ints(1)), False),
        (lambda b: b.Gather(b.Shape(X), b.ints(0), axis=0), True),
        (lambda b: b.Gather(ANY, b.Shape(X), axis=0), False),
        (lambda b: b.ints(3, -1), False),
        (lambda b: Operand(INT32, (2,)), False),
    ],
)  # fmt: skip
def test_what_is_never_negative(function, expected):
    assert made(function) is expected


FOUND = """
x = Placeholder() {dtype=float32, shape=(?,)}
rows = Placeholder() {dtype=float32, shape=(?, 4)}
given = Placeholder() {dtype=int64, shape=(?,)}
zero = Const() {dtype=float32, value=float32()[0]}
more = Greater(x, zero) {T=float32}
places = Where(more) {T=bool}
all = Const() {dtype=int32, value=int32(1,)[-1]}
flat = Reshape(places, all) {T=int64, Tshape=int32}
axis = Const() {dtype=int32, value=int32()[0]}
y = GatherV2(rows, INDICES, axis) {Tparams=float32, Tindices=int64, Taxis=int32}
"""


@pytest.mark.parametrize(("indices", "masks"), [("flat", 0), ("given", 1)])
def test_indices_of_found_elements_need_no_mask(indices, masks):
    (island,) = islands_of(FOUND.replace("INDICES", indices), ["y:0"], ["x:0", "rows:0", "given:0"])
    assert sum(node.op_type == "BitwiseAnd" for node in island.graph.node) == masks


def test_constants_are_never_negative_by_their_elements():
    assert is_never_negative(Operand(INT64, value=np.array([0, 5])))
