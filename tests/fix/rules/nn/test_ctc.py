"""CTC with the blank index of older releases."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import i32, numbers

from tfport.fix.rules.nn.ctc import (
    blank_as_the_last_class,
    blank_behind_the_other_classes,
    in_single_precision,
)

FOUR = ["y:0", "y:1", "y:2", "y:3"]
GREEDY = "y = CTCGreedyDecoder(x, l) {{T={}, merge_repeated={}, blank_index={}}}"
LOSS_V2 = "y = CTCLossV2(x, i, v, l)"
LOSS = "y = CTCLoss(x, i, v, l) {T=float64}"
INPUTS, LENGTHS = numbers(6, 2, 5), i32(6, 4)
TIES = np.round(INPUTS)
PLACES = np.array([[0, 0], [0, 1], [1, 0]], np.int64)
CASES = [
    *(rule_case(blank_behind_the_other_classes, GREEDY.format("float32", merge, blank), x=INPUTS, l=LENGTHS,
                fetches=FOUR, open=("x",) if blank >= 0 else ())
      for merge in ("true", "false") for blank in (0, 2, 4, -3)),
    *(rule_case(blank_behind_the_other_classes, GREEDY.format("float32", "false", blank), x=TIES, l=LENGTHS,
                fetches=FOUR)
      for blank in (0, 2, 4)),
    rule_case(blank_as_the_last_class, LOSS_V2, x=INPUTS, i=PLACES, v=i32(1, 3, 2), l=LENGTHS,
              answers="tfport",
              fetches=["y:0", "y:1"], rtol=1e-4, atol=1e-5),
    rule_case(in_single_precision, LOSS, x=INPUTS.astype(np.float64), i=PLACES, v=i32(1, 3, 2), l=LENGTHS,
              fetches=["y:0", "y:1"], rtol=1e-4, atol=1e-5),
    rule_case(in_single_precision, GREEDY.format("float64", "true", -1), x=INPUTS.astype(np.float64),
              l=LENGTHS,
              fetches=FOUR, rtol=1e-5),
    rule_case(in_single_precision, "y = CTCBeamSearchDecoder(x, l) {T=float64, beam_width=3, top_paths=2}",
              x=INPUTS.astype(np.float64), l=LENGTHS, fetches=[f"y:{i}" for i in range(7)], rtol=1e-5),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_it(c):
    check_chain(
        chain_case(c.text, fetches=c.fetches, rtol=c.rtol, atol=c.atol, **c.feeds),
        allow_lossy=c.rule is in_single_precision,
    )


REFUSED = [
    (blank_behind_the_other_classes, GREEDY.format("float32", "true", -1), "already the last class", {}),
    (
        blank_behind_the_other_classes,
        GREEDY.format("float32", "true", -2),
        "blank_index=-2",
        {"open": ("x",)},
    ),
    (in_single_precision, GREEDY.format("float32", "true", -1), "float32 already", {}),
]


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSED)
def test_others_stay(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, x=INPUTS, l=LENGTHS, **inputs)
