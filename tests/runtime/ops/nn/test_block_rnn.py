import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, numbers

IN, H, B, T = 3, 2, 4, 5


def weights(gates, kind=np.float32, *, inputs=IN):
    return numbers(inputs + H, gates * H, seed=gates, kind=kind), numbers(gates * H, seed=9, kind=kind)


def lstm_cell(kind=np.float32, **attrs):
    w, b = weights(4, kind)
    states = [numbers(B, H, seed=s, kind=kind) for s in (1, 2)]
    peepholes = [numbers(H, seed=s, kind=kind) for s in (3, 4, 5)]
    return case("LSTMBlockCell", numbers(B, IN, kind=kind), *states, w, *peepholes, b, **attrs)


def block(op, length, kind=np.float32, **attrs):
    w, b = weights(4, kind)
    states = [numbers(B, H, seed=s, kind=kind) for s in (1, 2)]
    peepholes = [numbers(H, seed=s, kind=kind) for s in (3, 4, 5)]
    x = numbers(T, B, IN, kind=kind)
    return case(op, np.array(length, np.int64), x, *states, w, *peepholes, b, **attrs)


def gru_cell():
    (w_ru, b_ru), (w_c, b_c) = weights(2), weights(1)
    return case("GRUBlockCell", numbers(B, IN), numbers(B, H, seed=1), w_ru, w_c, b_ru, b_c)


def wrong_gru():
    (w_ru, b_ru), (w_c, b_c) = weights(2, inputs=IN + 1), weights(1)
    return case("GRUBlockCell", numbers(B, IN), numbers(B, H, seed=1), w_ru, w_c, b_ru, b_c, fails=True)


CASES = [
    lstm_cell(),
    lstm_cell(forget_bias=0.0, cell_clip=0.5),
    lstm_cell(use_peephole=True, cell_clip=-1.0),
    # rounded to float16 at each step
    lstm_cell(np.float16, rtol=1e-2),
    block("BlockLSTM", T), block("BlockLSTM", 3), block("BlockLSTM", 0),
    block("BlockLSTM", T, use_peephole=True, forget_bias=0.5, cell_clip=0.1),
    block("BlockLSTMV2", T), block("BlockLSTMV2", 2, use_peephole=True, cell_clip=0.3),
    gru_cell(), wrong_gru(),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_block_rnn(c, ways):
    check("block_rnn", c, ways)
