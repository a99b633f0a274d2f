"""Gather ops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, i64, numbers, scalar, strings

from tfport.fix.rules.array.gather import (
    along_the_first_axis,
    as_gather_v2,
    batches_in_one,
    gathered_from_what_is_read,
    gathered_nd_from_what_is_read,
    with_the_axis_first,
)


def v2(batch_dims=0, kind="float32", index="int32"):
    return f"y = GatherV2(p, i, a) {{Tparams={kind}, Tindices={index}, Taxis=int32, batch_dims={batch_dims}}}"


VARIABLE = """
    v = VarHandleOp() {dtype=float32, shape=(2, 3, 2), shared_name="v"}
    s = AssignVariableOp(v, k) {dtype=float32}
"""
READ = VARIABLE + "y = ResourceGather(v, i, ^s) {dtype=float32, Tindices=int32, batch_dims=%d}"
READ_ND = VARIABLE + "y = ResourceGatherNd(v, i, ^s) {dtype=float32, Tindices=int32}"
AXIS = {"constants": ("a",)}
CASES = [
    rule_case(along_the_first_axis, v2(), p=numbers(3, 2), i=i32([0, 2], [1, 1]), a=scalar(0), **AXIS),
    rule_case(along_the_first_axis, v2(), p=numbers(3), i=scalar(2), a=scalar(-1), **AXIS),
    rule_case(along_the_first_axis, v2(kind="string", index="int64"), p=strings("a", "b"), i=i64(1, 0, 1),
              a=scalar(0), **AXIS),
    rule_case(as_gather_v2, "y = Gather(p, i) {Tparams=float32, Tindices=int32}", p=numbers(3, 2), i=i32(2)),
    rule_case(with_the_axis_first, v2(), p=numbers(2, 3, 4), i=i32([0, 2], [1, 1]), a=scalar(1), **AXIS),
    rule_case(with_the_axis_first, v2(), p=numbers(2, 3, 4), i=scalar(3), a=scalar(-1), open=("p",), **AXIS),
    rule_case(batches_in_one, v2(1), p=numbers(2, 3, 4), i=i32([0, 2, 2], [1, 1, 0]), a=scalar(1), **AXIS),
    rule_case(batches_in_one, v2(1), p=numbers(2, 3, 4), i=i32(3, 1), a=scalar(-1), open=("p", "i"), **AXIS),
    rule_case(batches_in_one, v2(1), p=numbers(2, 3, 4), i=i32([3], [1]), a=scalar(2), **AXIS),
    rule_case(batches_in_one, v2(-1), p=numbers(2, 3), i=i32([2], [1]), a=scalar(1), **AXIS),
    rule_case(batches_in_one, v2(2, "int64", "int64"), p=numbers(2, 2, 5, 3, kind=np.int64, high=99),
              i=np.arange(8).reshape(2, 2, 2) % 5, a=scalar(2), open=("p",), **AXIS),
    rule_case(batches_in_one, v2(1), p=numbers(0, 3), i=np.zeros((0, 2), np.int32), a=scalar(1), **AXIS),
    rule_case(batches_in_one, v2(1, "string"), p=strings(["a", "b"], ["c", "d"]), i=i32([1], [0]),
              a=scalar(1), **AXIS),
    rule_case(gathered_from_what_is_read, READ % 0, k=numbers(2, 3, 2), constants=('k',), i=i32([1], [0])),
    rule_case(gathered_from_what_is_read, READ % 1, k=numbers(2, 3, 2), constants=('k',),
              i=i32([2, 2], [0, 1])),
    rule_case(gathered_nd_from_what_is_read, READ_ND, k=numbers(2, 3, 2), constants=('k',),
              i=i32([1, 2], [0, 1])),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


REFUSALS = [
    (along_the_first_axis, v2(1), "batch_dims=1", 1, ("a",)),
    (along_the_first_axis, v2(), "its axis is 1", 1, ("a",)),
    (along_the_first_axis, v2(), "not constant", 0, ()),
    (with_the_axis_first, v2(1), "batch_dims=1", 1, ("a",)),
    (batches_in_one, v2(0), "no batch axes", 0, ("a",)),
    (batches_in_one, v2(1), "its axis 0 is a batch axis", 0, ("a",)),
]


@pytest.mark.parametrize(("rule", "text", "because", "axis", "constants"), REFUSALS)
def test_refuses(rule, text, because, axis, constants):
    assert_refuses(
        rule, text, because=because, p=numbers(2, 3), i=i32([0], [1]), a=scalar(axis), constants=constants
    )


def test_the_rank_must_be_known():
    text = "r = Reshape(p, s) {T=float32}\n" + v2().replace("(p,", "(r,")
    inputs = {
        "p": f32(1, 2),
        "s": i32(2, 1),
        "i": i32(0),
        "a": scalar(1),
    }
    assert_refuses(
        with_the_axis_first, text, because="rank of its params", constants=("a",), open=("s",), **inputs
    )


def test_batch_axes_count_from_the_front():
    inputs = {"k": numbers(2, 3, 2), "constants": ("k",), "i": i32([2, 2], [0, 1])}
    assert_refuses(gathered_from_what_is_read, READ % -1, because="-1", **inputs)


@pytest.mark.parametrize("c", [c for c in CASES if c.rule is batches_in_one], ids=str)
def test_a_target_without_batches_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, constants=c.constants, **c.feeds))


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 2), st.integers(0, 1), st.integers(0, 1), st.integers(0, 2), st.booleans())
def test_any_batches(batch, between, behind, asked, known):
    params = numbers(*range(2, 2 + batch + between), 3, *([2] * behind))
    indices = np.arange(np.prod([2, 3][:batch]) * 2**asked).reshape(*[2, 3][:batch], *[2] * asked) % 3
    inputs = dict(p=params, i=indices.astype(np.int32), a=scalar(batch + between), **AXIS)
    check(rule_case(batches_in_one, v2(batch), open=() if known else ("p", "i"), **inputs))
