"""Recurrent layers; the second run continues with the states of the first."""

from functools import partial

import numpy as np
import pytest
from tests.frontends.lite.cases import LiteInput, case, check, checks, const, out, q
from tests.runtime.cases import numbers

FLOAT = out("FLOAT32")
D, C, P, B, T = 3, 4, 2, 2, 3
"""Sizes of input, cell and projected output; rows and steps."""
lstm = partial(case, "LSTM", options_type="LSTMOptions", fused_activation_function="TANH", outputs=[FLOAT])
sequence = partial(
    case,
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    options_type="UnidirectionalSequenceLSTMOptions",
    fused_activation_function="TANH",
    time_major=True,
    outputs=[FLOAT],
)
bidirectional = partial(
    case,
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    options_type="BidirectionalSequenceLSTMOptions",
    fused_activation_function="TANH",
    outputs=[FLOAT, FLOAT],
)
rnn = partial(case, "RNN", options_type="RNNOptions", fused_activation_function="TANH", outputs=[FLOAT])
sequence_rnn = partial(
    case, "UNIDIRECTIONAL_SEQUENCE_RNN", options_type="SequenceRNNOptions", fused_activation_function="TANH"
)
both_rnn = partial(
    case,
    "BIDIRECTIONAL_SEQUENCE_RNN",
    options_type="BidirectionalSequenceRNNOptions",
    fused_activation_function="TANH",
    outputs=[FLOAT, FLOAT],
)
svdf = partial(case, "SVDF", options_type="SVDFOptions", outputs=[FLOAT])


def weights(*shape: int, seed: int, hybrid: bool = False) -> LiteInput:
    """Constant weights; as integers of 8 bits if they are hybrid."""
    array = numbers(*shape, seed=seed, low=-1, high=1)
    return const(q(np.round(array * 127).astype(np.int8), 0.01)) if hybrid else const(array)


def state(*shape: int) -> LiteInput:
    return LiteInput(np.zeros(shape, np.float32), is_variable=True)


def layer(
    *, cifg=False, peephole=False, projected=False, projection_bias=False, hybrid=False, units=C, first=0
):
    """Weights and biases of one direction."""
    output = P if projected else units
    w = partial(weights, hybrid=hybrid)
    gates = [None if cifg and gate == 0 else gate for gate in range(4)]
    return [
        *(None if g is None else w(units, D, seed=first + 1 + g) for g in gates),
        *(None if g is None else w(units, output, seed=first + 5 + g) for g in gates),
        *(w(units, seed=first + 9 + g) if peephole and not (cifg and g == 0) else None for g in range(3)),
        *(None if g is None else weights(units, seed=first + 12 + g) for g in gates),
        w(P, units, seed=first + 16) if projected else None,
        weights(P, seed=first + 17) if projection_bias else None,
    ]  # fmt: skip


NORMS = [weights(C, seed=20 + gate) for gate in range(4)]
KINDS = [
    {},
    {"cifg": True},
    {"peephole": True},
    {"projected": True, "projection_bias": True},
    {"cifg": True, "peephole": True, "projected": True},
]


def states(kind):
    return [state(B, P if kind.get("projected") else C), state(B, C)]


CASES = [
    *(lstm(numbers(B, D), *layer(**kind), *states(kind)) for kind in KINDS),
    *(
        lstm(
            numbers(B, D),
            *layer(**kind),
            *states(kind),
            cell_clip=0.3,
            proj_clip=0.2,
            fused_activation_function=act,
        )
        for kind, act in ((KINDS[0], "TANH"), (KINDS[3], "RELU"), (KINDS[1], "RELU6"))
    ),
    *(sequence(numbers(T, B, D), *layer(**kind), *states(kind)) for kind in KINDS),
    *(sequence(numbers(B, T, D), *layer(**kind), *states(kind), time_major=False) for kind in KINDS[:2]),
    *(
        sequence(numbers(T, B, D), *layer(**kind), *states(kind), *NORMS, version=2)
        for kind in (KINDS[0], KINDS[3])
    ),
    sequence(numbers(T, B, D), *layer(cifg=True), *states({}), None, *NORMS[1:], version=2),
    *(
        sequence(
            numbers(T, B, D),
            *layer(hybrid=True, **kind),
            *states(kind),
            asymmetric_quantize_inputs=way,
            version=3,
        )
        for kind in KINDS
        for way in (False, True)
    ),
    *(
        bidirectional(
            numbers(T, B, D),
            *layer(**kind),
            *layer(first=30, **kind),
            *states(kind),
            *states(kind),
            *[None] * 9,
            time_major=True,
            merge_outputs=False,
        )
        for kind in (KINDS[0], KINDS[4])
    ),
    bidirectional(
        numbers(1, T, D),
        *layer(),
        *layer(first=30),
        *[state(1, C) for _ in range(4)],
        *[None] * 9,
        time_major=False,
        merge_outputs=True,
        outputs=[FLOAT],
        version=2,
    ),
    bidirectional(
        numbers(T, B, D),
        *layer(),
        *layer(first=30),
        *states({}),
        *states({}),
        numbers(T, B, D),
        *(weights(C, D, seed=50 + g) for g in range(8)),
        time_major=True,
        merge_outputs=False,
    ),
    lstm(
        numbers(B, D),
        state(B, C),
        weights(4 * C, D + C, seed=1),
        weights(4 * C, seed=2),
        state(B, C),
        kernel_type="BASIC",
        outputs=[FLOAT] * 4,
        version=2,
    ),
    *(
        rnn(
            numbers(B, D),
            weights(C, D, seed=1, hybrid=hybrid),
            weights(C, C, seed=2, hybrid=hybrid),
            weights(C, seed=3),
            state(B, C),
            fused_activation_function=act,
            asymmetric_quantize_inputs=asymmetric,
            version=3 if hybrid else 1,
        )
        for hybrid, asymmetric, act in (
            (False, False, "TANH"),
            (False, False, "RELU"),
            (True, False, "TANH"),
            (True, True, "RELU6"),
        )
    ),
    *(
        sequence_rnn(
            numbers(*((T, B) if major else (B, T)), D),
            weights(C, D, seed=1, hybrid=hybrid),
            weights(C, C, seed=2, hybrid=hybrid),
            weights(C, seed=3),
            state(B, C),
            time_major=major,
            version=3 if hybrid else 1,
        )
        for hybrid in (False, True)
        for major in (False, True)
    ),
    *(
        both_rnn(
            numbers(T, B, D),
            weights(C, D, seed=1),
            weights(C, C, seed=2),
            weights(C, seed=3),
            state(B, C),
            weights(C, D, seed=4),
            weights(C, C, seed=5),
            weights(C, seed=6),
            state(B, C),
            *more,
            time_major=True,
            merge_outputs=merged,
            outputs=[FLOAT] * (1 if merged else 2),
        )
        for merged, more in (
            (False, (None, None, None)),
            (True, (None, None, None)),
            (False, (numbers(T, B, D), weights(C, D, seed=7), weights(C, D, seed=8))),
        )
    ),
    *(
        svdf(
            numbers(B, D),
            weights(4, D, seed=1, hybrid=hybrid),
            weights(4, 3, seed=2, hybrid=hybrid),
            bias,
            state(B, 12),
            rank=rank,
            fused_activation_function=act,
            asymmetric_quantize_inputs=asymmetric,
            version=3 if hybrid else 1,
        )
        for rank, bias, act, hybrid, asymmetric in (
            (1, None, "NONE", False, False),
            (2, weights(2, seed=3), "RELU", False, False),
            (1, weights(4, seed=3), "NONE", True, False),
            (2, None, "RELU", True, True),
        )
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_recurrent(c):
    check("recurrent", c)
