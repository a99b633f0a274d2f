"""XLA ops as ordinary ops. TensorFlow runs them only compiled, so tfport runs the originals."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers
from tests.runtime.ops.xla.test_xla import dot

from tfport.fix.rules.xla import (
    as_batch_matmul,
    as_call,
    as_choice,
    as_einsum,
    as_if,
    as_pad,
    as_slice,
    as_while,
    on_one_device,
    without_barrier,
)

OURS = {"answers": "tfport", "rtol": 1e-5, "atol": 1e-5}
X, U = numbers(5, 4), numbers(2, 3, seed=1)
PAD = "y = XlaPad(x, v, l, h, i) {T=float32, Tindices=int32}"
PADS = {
    "x": X,
    "v": np.float32(7),
    "l": np.int32([1, 0]),
    "h": np.int32([0, 2]),
    "i": np.int32([0, 0]),
    "constants": ("l", "h", "i"),
}
SLICE = "y = XlaDynamicSlice(x, s, n) {T=float32, Tindices=%s}"
UPDATE = "y = XlaDynamicUpdateSlice(x, u, s) {T=float32, Tindices=int32}"
DOT = 'y = XlaDot(a, b) {T=float32, precision_config="", dimension_numbers=%s}'


def product(a, b, numbers, **options):
    return rule_case(as_batch_matmul, DOT % json.dumps(numbers), a=a, b=b, **OURS, **options)


CASES = [
    rule_case(on_one_device, 'y = XlaSharding(x) {T=float32, sharding=""}', x=X, **OURS),
    rule_case(
        without_barrier,
        "y = XlaOptimizationBarrier(x, u) {T=[float32, float32]}",
        fetches=["y:0", "y:1"],
        x=X,
        u=U,
        **OURS,
    ),
    rule_case(as_pad, PAD, **PADS, **OURS),
    rule_case(
        as_slice, SLICE % "int32", x=X, s=np.int32([1, 2]), n=np.int32([2, 1]), constants=("n",), **OURS
    ),
    rule_case(
        as_slice, SLICE % "int64", x=X, s=np.int64([4, -3]), n=np.int64([3, 2]), constants=("n",), **OURS
    ),
    rule_case(as_choice, UPDATE, x=X, u=U, s=np.int32([1, 1]), **OURS),
    rule_case(as_choice, UPDATE, x=X, u=U, s=np.int32([9, -9]), open=("x", "u"), **OURS),
    rule_case(
        as_einsum, 'y = XlaEinsum(a, b) {T=float32, equation="ij,jk->ik"}', a=X, b=numbers(4, 3), **OURS
    ),
    product(X, numbers(4, 3), dot([1], [0])),
    product(numbers(2, 3, 4), numbers(4, 3, 5), dot([2, 1], [0, 1]), open=("a", "b")),
    product(numbers(5, 2, 3), numbers(3, 5, 4), dot([2], [0], ([0], [1]))),
    product(numbers(3), numbers(2), dot([], [])),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@settings(max_examples=25)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=2))
def test_a_slice_is_moved_into_the_value(start):
    check(rule_case(as_slice, SLICE % "int32", x=X, s=np.int32(start), n=np.int32([2, 3]), constants=("n",)))
    check(rule_case(as_choice, UPDATE, x=X, u=U, s=np.int32(start)))


REFUSED = [
    (as_pad, PAD, "its paddings are not constant", {**PADS, "constants": ()}),
    (as_pad, PAD, "it pads between elements (padding_interior=[1, 0])", {**PADS, "i": np.int32([1, 0])}),
    (as_pad, PAD, "it crops (padding_low=[-1, 0], padding_high=[0, 2])", {**PADS, "l": np.int32([-1, 0])}),
]


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSED, ids=[row[2] for row in REFUSED])
def test_stays_as_it_was(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, **inputs)


def test_reaches_the_oldest_release():
    check_chain(chain_case(SLICE % "int32", x=X, s=np.int32([4, 3]), n=np.int32([2, 2]), constants=("n",)))
    check_chain(chain_case(UPDATE, x=X, u=U, s=np.int32([4, 3])))
    check_chain(chain_case(PAD, **PADS))


CALLS = """
  a = XlaIf(c, x, x) {Tcond=bool, Tin=[float32, float32], Tout=[float32], then_branch=@f, else_branch=@g}
  b = XlaWhile(x) {T=[float32], cond=@small, body=@double}
  d = XlaLaunch(x, x) {Tconstants=[], Targs=[float32, float32], Nresources=0, Tresults=[float32], function=@f}

  def f(x: float32, y: float32) -> (z: float32):
    m = AddV2(x, y) {T=float32}
    return z=m

  def g(x: float32, y: float32) -> (z: float32):
    m = Mul(x, y) {T=float32}
    return z=m

  def small(x: float32) -> (z: bool):
    end = Const() {dtype=float32, value=float32()[100.0]}
    m = Less(x, end) {T=float32}
    return z=m

  def double(x: float32) -> (z: float32):
    m = AddV2(x, x) {T=float32}
    return z=m
"""


@pytest.mark.parametrize("rule", [as_if, as_while, as_call], ids=lambda rule: rule.name)
@pytest.mark.parametrize("chosen", [True, False])
def test_functions_are_called_without_a_compiler(rule, chosen):
    check(rule_case(rule, CALLS, fetches=["a:0", "b:0", "d:0"], c=np.array(chosen), x=np.float32(3)))
