"""Fused recurrent cells as arithmetic."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.block_rnn import cell_as_arithmetic, gru_cell_as_arithmetic, steps_as_arithmetic

IN, UNITS, BATCH = 3, 2, 4
ALL = [f"y:{place}" for place in range(7)]


def lstm(kind=np.float32):
    fed = {"cs": numbers(BATCH, UNITS, seed=1), "h": numbers(BATCH, UNITS, seed=2)}
    fed |= {"w": numbers(IN + UNITS, 4 * UNITS, seed=3), "b": numbers(4 * UNITS, seed=4)}
    fed |= {f"w{k}": numbers(UNITS, seed=5 + k) for k in range(3)}
    return {name: array.astype(kind) for name, array in fed.items()}


def attrs_text(**attrs):
    return "".join(f", {k}={str(v).lower()}" for k, v in attrs.items())


def cell(kind=np.float32, fetches=ALL, **attrs):
    name = np.dtype(kind).name
    close = 1e-2 if name == "float16" else 1e-5
    text = f"y = LSTMBlockCell(x, cs, h, w, w0, w1, w2, b) {{T={name}{attrs_text(**attrs)}}}"
    x = numbers(BATCH, IN).astype(kind)
    return rule_case(cell_as_arithmetic, text, fetches=fetches, rtol=close, atol=close, x=x, **lstm(kind))


def block(op, steps, length, fetches=None, open=(), constants=("n",), more="", **attrs):
    text = f"y = {op}(n, x, cs, h, w, w0, w1, w2, b) {{T=float32{attrs_text(**attrs)}}}{more}"
    # TensorFlow leaves in memory what was there for all but the states behind the end
    fetches = fetches or (ALL if length == steps else ["y:1", "y:6"])
    return rule_case(
        steps_as_arithmetic, text, fetches=fetches, rtol=1e-5, atol=1e-5, open=open, constants=constants,
        n=np.array(length, np.int64), x=numbers(steps, BATCH, IN), **lstm(),
    )  # fmt: skip


READ = "\nz = Identity(y:6) {T=float32}\nq = Identity(y:1) {T=float32}"
GRU = {
    "x": numbers(BATCH, IN), "h": numbers(BATCH, UNITS, seed=1),
    "w": numbers(IN + UNITS, 2 * UNITS, seed=2), "wc": numbers(IN + UNITS, UNITS, seed=3),
    "b": numbers(2 * UNITS, seed=4), "bc": numbers(UNITS, seed=5),
}  # fmt: skip
CASES = [
    cell(),
    cell(forget_bias=0.0, cell_clip=0.5),
    cell(use_peephole=True, cell_clip=-1.0),
    cell(np.float16),
    *(block(op, steps, length)
      for op in ("BlockLSTM", "BlockLSTMV2") for steps, length in ((5, 5), (5, 3), (70, 66))),
    block("BlockLSTM", 5, 0),
    block("BlockLSTM", 5, 5, use_peephole=True, forget_bias=0.5, cell_clip=0.1),
    block("BlockLSTMV2", 80, 80, use_peephole=True, cell_clip=0.3),
    block("BlockLSTMV2", 6, 4, open=("x", "cs", "h"), constants=()),
    block("BlockLSTM", 6, 6, fetches=["z:0", "q:0"], more=READ),
    block("BlockLSTM", 6, 6, fetches=["z:0", "q:0"], more=READ, open=("x",), constants=()),
    rule_case(gru_cell_as_arithmetic, "y = GRUBlockCell(x, h, w, wc, b, bc) {T=float32}", rtol=1e-5,
              atol=1e-5, fetches=[f"y:{place}" for place in range(4)], **GRU),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_an_input_without_time_stays():
    assert_refuses(
        steps_as_arithmetic, "y = BlockLSTM(n, x, cs, h, w, w0, w1, w2, b) {T=float32}",
        because="its input has rank 2; expected 3", n=np.array(1, np.int64), x=numbers(BATCH, IN), **lstm(),
    )  # fmt: skip


@pytest.mark.parametrize("target", ["tensorflow==1.4.1", "tensorflow==1.13.2"])
def test_releases_that_have_it_in_contrib_run_it(target):
    c = block("BlockLSTMV2", 70, 70, fetches=["z:0", "q:0"], more=READ)
    used = check_chain(
        chain_case(c.text, fetches=c.fetches, rtol=1e-5, atol=1e-5, constants=("n",), **c.feeds), target
    )
    assert "steps_as_arithmetic" in used
