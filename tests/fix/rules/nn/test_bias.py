"""BiasAdd with older and newer ops."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.activations import as_bias_add, as_first_bias_add, bias_as_sum

X, B = numbers(2, 3, 4, 5), numbers(5)
FIRST = "y = BiasAdd(x, b) {T=float32, data_format=NCHW}"
CASES = [
    rule_case(as_bias_add, "y = BiasAddV1(x, b) {T=float32}", x=X, b=B),
    rule_case(as_first_bias_add, "y = BiasAdd(x, b) {T=float32}", x=X, b=B),
    rule_case(bias_as_sum, "y = BiasAdd(x, b) {T=float32}", x=X, b=B, open=("x", "b")),
    rule_case(bias_as_sum, "y = BiasAdd(x, b) {T=int32}", x=np.int32([[1, 2]]), b=np.int32([3, 4])),
    rule_case(bias_as_sum, FIRST, x=X, b=numbers(3)),
    rule_case(bias_as_sum, FIRST, x=numbers(2, 3, 4, 2, 2), b=numbers(3)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_channels_first_are_not_for_the_first_op():
    assert_refuses(as_first_bias_add, FIRST, because="its data_format is NCHW", x=X, b=B)


def test_quantized_numbers_stay():
    assert_refuses(
        bias_as_sum,
        "y = BiasAdd(x, x) {T=qint8}",
        because="Add does not support qint8",
        x=np.int8([1]),
        types={"x": "qint8"},
    )


def test_ranks_that_old_kernels_refuse_reach_them():
    check_chain(
        chain_case("y = BiasAdd(x, b) {T=float32}", x=numbers(1, 2, 3, 2, 1, 5), b=B), "tensorflow==2.6.5"
    )
    check_chain(chain_case(FIRST, x=numbers(2, 5, 3), b=B))
