"""LSTM layers of int8 with an int16 cell, one invocation after another."""

import re

import numpy as np
import pytest
from tests.frontends.lite.cases import check, checks, graph_case

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
STEP = OperatorCode("LSTM", 16, 2)
RNG = np.random.default_rng(7)


def lstm(
    batch=2, steps=5, inputs=6, cells=7, outputs=None, has_input_gate=True, cell_scale=2.0**-11,
    peephole=False, norm=False, **options,
):  # fmt: skip
    """A file with one layer; with `outputs`, its cells are projected to so many; without steps, one step."""
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

    def of_cells(scale, low):
        data = RNG.integers(low, 20000, cells).astype(np.int16)
        return tensor((cells,), "INT16", scale, 0, data)

    times = (steps,) if steps else ()
    rows = (steps, batch) if options.get("time_major") else (batch, *times)
    code = CODE if steps else STEP
    x = tensor((*rows, inputs), "INT8", 0.0213, 3)
    gates = [0, 1, 2, 3] if has_input_gate else [1, 2, 3]
    scales = [0.0071, 0.0063, 0.0049, 0.0057]
    absent = [] if has_input_gate else [-1]
    operands = [x, *absent, *(weights(cells, inputs, scales[g]) for g in gates)]
    operands += [*absent, *(weights(cells, width, scales[g] * 1.1) for g in gates)]
    holes = gates[:-2] + gates[-1:]
    operands += [*absent, *(of_cells(2e-5, -20000) for _ in holes)] if peephole else [-1, -1, -1]
    operands += [*absent, *(bias(cells, scales[g] * 0.0213) for g in gates)]
    operands += [weights(width, cells, 0.0083), bias(width, 0.0083 * 0.0071)] if outputs else [-1, -1]
    operands.append(tensor((batch, width), "INT8", 0.0078, -4, is_variable=True))
    operands.append(tensor((batch, cells), "INT16", cell_scale, 0, is_variable=True))
    operands += [*absent, *(of_cells(3e-5, 0) for _ in gates)] if norm else [-1] * 4
    y = tensor((*rows, width), "INT8", 0.0078, -4)
    hidden = ("INT8", 0.0071, 5) if outputs else ("INT8", 0.0078, -4)
    intermediates = [tensor((), "INT16", 0.0003 if norm else 2.0**-12) for _ in range(4)] + [
        tensor((), *hidden)
    ]
    base = {"fused_activation_function": "TANH", "cell_clip": 0.0, "proj_clip": 0.0}
    base |= {"time_major": False} if steps else {}
    table = "UnidirectionalSequenceLSTMOptions" if steps else "LSTMOptions"
    operator = LiteOperator(
        code, tuple(operands), (y,), base | options, table,
        intermediates=tuple(intermediates),
    )  # fmt: skip
    main = Subgraph("main", tensors, [operator], (x,), (y,))
    file = LiteFile("case", 3, "", [code], [main], [], buffers, [])
    return graph_case(code.op, file, RNG.integers(-128, 128, (*rows, inputs)).astype(np.int8))


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
    lstm(peephole=True),
    lstm(peephole=True, has_input_gate=False),
    lstm(peephole=True, outputs=4),
    lstm(peephole=True, outputs=4, time_major=True),
    lstm(norm=True),
    lstm(norm=True, has_input_gate=False),
    lstm(norm=True, cells=12, outputs=5),
    lstm(norm=True, peephole=True, cells=8, outputs=3, cell_clip=0.5),
    lstm(steps=0),
    lstm(steps=0, norm=True, peephole=True, outputs=4),
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


@pytest.mark.parametrize(("point", "shape"), [((-(2**40),), (2, 7)), ((), (2**31 - 1, 2**31 - 1))])
def test_a_state_that_no_interpreter_has_is_refused(point, shape):
    c = lstm()
    state = next(tensor for tensor in c.file.subgraphs[0].tensors if tensor.is_variable)
    state.quantization, state.shape = TensorQuantization((0.5,), point), shape
    with pytest.raises(tfport.Error, match="the state `"):
        tfport.Session(tfport.load(c.model))
