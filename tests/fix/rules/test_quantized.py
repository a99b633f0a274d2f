"""Fake quantization with older ops."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import PRODUCER, assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rules.quantized import (
    dequantized_in_float32,
    with_another_gradient,
    with_bits_as_input,
    with_constant_bits,
)
from tfport.registry.unresolved import Question

X = numbers(4, 5)
RANGE = {"a": np.float32(-1.5), "b": np.float32(1.7)}
V2 = "y = QuantizeAndDequantizeV2(x, a, b) {T=float32, range_given=true, num_bits=5%s}"
V3 = "y = QuantizeAndDequantizeV3(x, a, b, n) {T=float32, range_given=true}"
V4 = "y = QuantizeAndDequantizeV4(x, a, b) {T=float32, range_given=%s, signed_input=%s}"
DEQUANTIZE = "q = Dequantize(x, a, b) {T=quint8, dtype=%s}\ny = Cast(q) {SrcT=%s, DstT=float32}"
BITS = {"n": np.int32(6)}

CASES = [
    rule_case(with_another_gradient, V4 % ("true", "true"), x=X, **RANGE),
    rule_case(with_another_gradient, V4 % ("false", "true"), x=X, **RANGE),
    rule_case(with_constant_bits, V3, x=X, constants=("n",), **RANGE, **BITS),
    rule_case(with_bits_as_input, V2 % "", x=X, **RANGE),
    rule_case(
        dequantized_in_float32,
        DEQUANTIZE % ("bfloat16", "bfloat16"),
        x=np.uint8([0, 3, 200, 255]),
        types={"x": "quint8"},
        **RANGE,
    ),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


REFUSED = [
    (with_constant_bits, V3, "num_bits is not constant"),
    (
        with_bits_as_input,
        V2 % ", round_mode=HALF_UP",
        "QuantizeAndDequantizeV3 does not support round_mode=HALF_UP",
    ),
]


@pytest.mark.parametrize(("rule", "text", "because"), REFUSED, ids=[row[2] for row in REFUSED])
def test_stays_as_it_was(rule, text, because):
    assert_refuses(rule, text, because=because, x=X, **RANGE, **BITS)


def test_reaches_old_releases():
    check_chain(chain_case(V4 % ("true", "true"), x=X, **RANGE), "tensorflow==1.12.3")
    check_chain(chain_case(V4 % ("true", "false"), x=X, **RANGE))


def test_signed_numbers_were_rounded_otherwise_before():
    checker = NodeChecker(resolve_targets("tensorflow==1.8.0")[0], PRODUCER)
    node = chain_case(V2 % "", x=X, **RANGE).model().graph.nodes["y"]
    assert [reason.question for reason in checker.unresolved(node)] == [Question.KERNEL_ANSWER]
