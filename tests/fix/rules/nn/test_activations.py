"""Activations in plain arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain, rewritten_for
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.activations import (
    elu_by_select,
    leaky_by_select,
    log_softmax_as_difference,
    relu6_as_minimum,
    relu_as_maximum,
    row_by_row,
    selu_as_elu,
    softmax_as_quotient,
    softplus_as_logarithm,
    softsign_as_quotient,
)

ODD = np.float32([-0.0, 0, np.nan, -np.inf, np.inf, -1, 1e-30, -3e38, 7, 3])
X = numbers(3, 4, high=9)
HALF = {"x": X.astype(np.float16), "rtol": 2e-3, "atol": 2e-3}
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def line(op, kind="float32", attrs=""):
    return f"y = {op}(x) {{T={kind}{attrs}}}"


CASES = [
    *(
        rule_case(leaky_by_select, line("LeakyRelu", attrs=f", alpha={alpha}"), x=x)
        for alpha in (0.2, 0.0, 1.0, 2.5, -0.5)
        for x in (ODD, X)
    ),
    rule_case(leaky_by_select, line("LeakyRelu", "float16"), **HALF),
    rule_case(leaky_by_select, line("LeakyRelu", "float64"), x=X.astype(np.float64), open=("x",)),
    rule_case(leaky_by_select, line("LeakyRelu"), x=X[0, 0]),
    rule_case(relu_as_maximum, line("Relu"), x=ODD),
    rule_case(relu_as_maximum, line("Relu", "int8"), x=np.int8([-3, 0, 5])),
    rule_case(relu6_as_minimum, line("Relu6"), x=ODD),
    rule_case(relu6_as_minimum, line("Relu6", "int32"), x=np.int32([-3, 0, 5, 7])),
    rule_case(elu_by_select, line("Elu"), x=ODD, **CLOSE),
    rule_case(elu_by_select, line("Elu", "float16"), **HALF),
    rule_case(selu_as_elu, line("Selu"), x=ODD, **CLOSE),
    rule_case(selu_as_elu, line("Selu", "float64"), x=X.astype(np.float64), **CLOSE),
    rule_case(softsign_as_quotient, line("Softsign"), x=ODD),
    rule_case(softsign_as_quotient, line("Softsign", "float16"), **HALF),
    rule_case(softplus_as_logarithm, line("Softplus"), x=ODD, **CLOSE),
    rule_case(softplus_as_logarithm, line("Softplus"), x=X * 30, **CLOSE),
    rule_case(row_by_row, line("Softmax"), x=numbers(2, 3, 4)),
    rule_case(row_by_row, line("LogSoftmax"), x=numbers(2, 3, 4, 5), open=("x",)),
    rule_case(row_by_row, line("Softmax", "float64"), x=numbers(5, kind=np.float64)),
    rule_case(row_by_row, line("Softmax"), x=numbers(2, 0, 4), open=("x",)),
    rule_case(softmax_as_quotient, line("Softmax"), x=X, **CLOSE),
    rule_case(softmax_as_quotient, line("Softmax"), x=X[0] * 100, open=("x",), **CLOSE),
    rule_case(softmax_as_quotient, line("Softmax", "float16"), **HALF),
    rule_case(softmax_as_quotient, line("Softmax"), x=X[:0], **CLOSE),
    rule_case(log_softmax_as_difference, line("LogSoftmax"), x=X * 100, **CLOSE),
    rule_case(log_softmax_as_difference, line("LogSoftmax"), x=numbers(2, 3, 4), **CLOSE),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@given(st.floats(-10, 10, width=32), st.lists(st.floats(width=32), max_size=9))
def test_leaky_relu_stays_whatever_alpha(alpha, values):
    check(rule_case(leaky_by_select, line("LeakyRelu", attrs=f", alpha={alpha!r}"), x=np.float32(values)))


def test_a_quantized_relu_stays():
    assert_refuses(
        relu_as_maximum,
        line("Relu", "qint8"),
        because="Maximum does not support qint8",
        x=np.int8([1]),
        types={"x": "qint8"},
    )


@pytest.mark.parametrize("target", ["tensorflow==1.4.1", "tensorflow==1.12.3"])
def test_leaky_relu_reaches_old_releases(target):
    check_chain(chain_case(line("LeakyRelu", attrs=", alpha=0.3"), x=X), target)


def test_a_softmax_of_matrices_stays():
    assert_refuses(row_by_row, line("Softmax"), because="its shape is [3, 4]", x=X)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_a_softmax_whose_rank_only_planning_finds_reaches_old_releases(op):
    text = f"n = Neg(x) {{T=float32}}\ny = {op}(n) {{T=float32}}"
    after = rewritten_for(c := chain_case(text, x=numbers(2, 3, 4), rtol=1e-5, atol=1e-6))
    assert [node.op for node in after.graph].count("Reshape") == 2
    check_chain(c)
    assert "Reshape" not in {node.op for node in rewritten_for(c, "tensorflow==1.11.0").graph}
