"""Tensor lists that grow."""

import numpy as np
import pytest
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, scalar, strings

from tfport.fix.rules.array.lists import resized_before_it_is_set

GROWS = """
    shape = Const() {dtype=int32, value=int32()[-1]}
    l = TensorListReserve(shape, n) {element_dtype=KIND, shape_type=int32}
    m = TensorListSetItem(l, zero, x) {element_dtype=KIND, resize_if_index_out_of_bounds=true}
    zero = Const() {dtype=int32, value=int32()[0]}
    s = TensorListSetItem(m, i, x) {element_dtype=KIND, resize_if_index_out_of_bounds=GROW}
    y = TensorListStack(s, e) {element_dtype=KIND}
    e = Const() {dtype=int32, value=int32(1)[2]}
    size = TensorListLength(s)
"""
BOTH = ["y:0", "size:0"]


def grows(kind="float32", grow="true"):
    return GROWS.replace("KIND", kind).replace("GROW", grow)


X = f32(1, 2)
CASES = [
    rule_case(resized_before_it_is_set, grows(), x=X, i=scalar(1), n=scalar(0), fetches=BOTH),
    rule_case(resized_before_it_is_set, grows(), x=X, i=scalar(4), n=scalar(2), fetches=BOTH),
    rule_case(resized_before_it_is_set, grows(), x=X, i=scalar(1), n=scalar(3), fetches=BOTH),
    rule_case(resized_before_it_is_set, grows("string"), x=strings("a", ""), i=scalar(1), n=scalar(0),
              fetches=BOTH),
    rule_case(resized_before_it_is_set, grows("int64"), x=np.array([7, 8]), i=scalar(2), n=scalar(1),
              fetches=BOTH),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_refuses():
    fixed = grows().replace("resize_if_index_out_of_bounds=true", "resize_if_index_out_of_bounds=false")
    fed = {"x": X, "i": scalar(1), "n": scalar(3)}
    assert_refuses(resized_before_it_is_set, fixed, because="does not grow the list", **fed)
