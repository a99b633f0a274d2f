"""LSTM layers of int8 with an int16 cell, one invocation after another."""

import re

import numpy as np
import pytest
from tests.lite.cases import check, checks, graph_case

import tfport
from tfport.formats.lite.records import (
    LiteFile,
    LiteOperator,
    LiteTensor,
    OperatorCode,
    Subgraph,
    TensorQuantization,
)

OP = "UNIDIRECTIONAL_SEQUENCE_LSTM"
CODE = OperatorCode(OP, 44, 1)
RNG = np.random.default_rng(7)


def lstm(
    batch=2, steps=5, inputs=6, cells=7, outputs=None, has_input_gate=True, cell_scale=2.0**-11, **options
):
    """A file with one layer; with `outputs`, its cells are projected to so many."""
    width = outputs or cells
    buffers, tensors = [b""], []

    def tensor(shape, kind, scale, zero=0, data=None, is_variable=False):
        quantization = TensorQuantization((float(np.float32(scale)),), (zero,))
        buffer = 0
        if data is not None:
            buffer = len(buffers)
            buffers.append(data.tobytes())
        name = f"t{len(tensors)}"
        tensors.append(LiteTensor(name, kind, shape, buffer, quantization, is_variable, has_rank=True))
        return len(tensors) - 1

    def weights(rows, columns, scale):
        data = RNG.integers(-127, 128, (rows, columns)).astype(np.int8)
        return tensor((rows, columns), "INT8", scale, 0, data)

    def bias(size, scale):
        data = RNG.integers(-4000, 4000, size).astype(np.int32)
        return tensor((size,), "INT32", scale, 0, data)

    x = tensor((batch, steps, inputs), "INT8", 0.0213, 3)
    gates = [0, 1, 2, 3] if has_input_gate else [1, 2, 3]
    scales = [0.0071, 0.0063, 0.0049, 0.0057]
    absent = [] if has_input_gate else [-1]
    operands = [x, *absent, *(weights(cells, inputs, scales[g]) for g in gates)]
    operands += [*absent, *(weights(cells, width, scales[g] * 1.1) for g in gates), -1, -1, -1]
    operands += [*absent, *(bias(cells, scales[g] * 0.0213) for g in gates)]
    operands += [weights(width, cells, 0.0083), bias(width, 0.0083 * 0.0071)] if outputs else [-1, -1]
    operands.append(tensor((batch, width), "INT8", 0.0078, -4, is_variable=True))
    operands.append(tensor((batch, cells), "INT16", cell_scale, 0, is_variable=True))
    operands += [-1] * 4
    y = tensor((batch, steps, width), "INT8", 0.0078, -4)
    hidden = ("INT8", 0.0071, 5) if outputs else ("INT8", 0.0078, -4)
    intermediates = [tensor((), "INT16", 2.0**-12) for _ in range(4)] + [tensor((), *hidden)]
    base = {"fused_activation_function": "TANH", "cell_clip": 0.0, "proj_clip": 0.0, "time_major": False}
    operator = LiteOperator(
        CODE, tuple(operands), (y,), base | options, "UnidirectionalSequenceLSTMOptions",
        intermediates=tuple(intermediates),
    )  # fmt: skip
    main = Subgraph("main", tensors, [operator], (x,), (y,))
    file = LiteFile("case", 3, "", [CODE], [main], [], buffers, [])
    return graph_case(OP, file, RNG.integers(-128, 128, (batch, steps, inputs)).astype(np.int8))


CASES = [
    lstm(),
    lstm(has_input_gate=False),
    lstm(outputs=4),
    lstm(cell_clip=0.5),
    lstm(outputs=4, proj_clip=0.3, has_input_gate=False),
    *(lstm(cell_scale=2.0**power, cell_clip=10.0) for power in range(-15, -8)),
    # the interpreter has no tanh for these cells: the input gate takes its place
    *(lstm(cell_scale=2.0**power, cell_clip=10.0) for power in (-30, -21, -17, -16, -8, -3, 1)),
    lstm(cell_scale=2.0**-16, batch=1, outputs=4),
    lstm(cell_scale=2.0**-17, batch=3, steps=1),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_quantized_lstm(c):
    check("quantized_lstm", c)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"cell_scale": 2.0**-16, "has_input_gate": False},
            "is 2**-16, which the interpreter has no tanh for",
        ),
        ({"cell_scale": 2.0**-8, "has_input_gate": False}, "is 2**-8, which the interpreter has no tanh for"),
        ({"cell_scale": 0.0, "cell_clip": 10.0}, "is 0, not a power of two"),
        ({"cell_scale": 0.0003}, "is 0.0003, not a power of two"),
        ({"cell_scale": 2.0**-31}, "is 4.65661e-10, not a power of two from 2**-30 to 2"),
    ],
)
def test_a_layer_that_the_interpreter_leaves_undefined_is_refused(options, why):
    model = tfport.load(lstm(**options).model)
    with pytest.raises(tfport.Error, match=re.escape(f"the scale of its cell {why}")):
        tfport.Session(model)
