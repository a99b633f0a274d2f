"""Pooling whose padding and windows are replaced by other ops."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.pooling import (
    counted_in_each_image,
    padded_with_the_least,
    with_constant_windows,
    with_windows_as_inputs,
)

X = numbers(2, 7, 6, 3)
WINDOW = "ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1]"
EXPLICIT = f"{WINDOW}, padding=EXPLICIT, explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]"
ARGMAX = f"y = MaxPoolWithArgmax(x) {{T=float32, {WINDOW}, padding=SAME, include_batch_in_index=true"
V2 = "y = MaxPoolV2(x, k, s) {T=float32, padding=SAME}"
GIVEN = {"k": np.int32([1, 3, 2, 1]), "s": np.int32([1, 2, 1, 1])}

CASES = [
    rule_case(padded_with_the_least, f"y = MaxPool(x) {{T=float32, {EXPLICIT}}}", x=X),
    rule_case(padded_with_the_least, f"y = MaxPool(x) {{T=float32, {EXPLICIT}}}", x=X - 9, open=("x",)),
    rule_case(padded_with_the_least, f"y = MaxPool(x) {{T=float16, {EXPLICIT}}}", x=X.astype(np.float16)),
    rule_case(padded_with_the_least, f"y = MaxPool(x) {{T=int8, {EXPLICIT}}}", x=(X * 50).astype(np.int8)),
    rule_case(with_constant_windows, V2, constants=("k", "s"), x=X, **GIVEN),
    rule_case(with_windows_as_inputs, f"y = MaxPool(x) {{T=float32, {WINDOW}, padding=VALID}}", x=X),
    rule_case(counted_in_each_image, ARGMAX + "}", fetches=["y:0", "y:1"], x=X),
    rule_case(counted_in_each_image, ARGMAX + ", Targmax=int32}", fetches=["y:0", "y:1"], x=X, open=("x",)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


REFUSED = [
    (padded_with_the_least, f"y = MaxPool(x) {{T=float32, {WINDOW}, padding=SAME}}", "its padding is SAME"),
    (with_constant_windows, V2, "its windows and strides are not constant"),
    (
        with_windows_as_inputs,
        f"y = MaxPool(x) {{T=float32, {EXPLICIT}}}",
        "MaxPoolV2 does not support explicit padding",
    ),
    (
        with_windows_as_inputs,
        "y = MaxPool(x) {T=float32, ksize=[1, 1, 2, 2], strides=[1, 1, 1, 1], padding=SAME, "
        "data_format=NCHW}",
        "MaxPoolV2 does not support data_format=NCHW on a CPU",
    ),
    (counted_in_each_image, ARGMAX.replace("true", "false") + "}", "its indices do not include the batch"),
]


@pytest.mark.parametrize(("rule", "text", "because"), REFUSED, ids=[row[2] for row in REFUSED])
def test_stays_as_it_was(rule, text, because):
    assert_refuses(rule, text, because=because, x=X, **GIVEN)


def test_reaches_the_oldest_release():
    check_chain(chain_case(f"y = MaxPool(x) {{T=float32, {EXPLICIT}}}", x=X))
    check_chain(chain_case(V2, constants=("k", "s"), x=X, **GIVEN), "tensorflow==1.3.0")
