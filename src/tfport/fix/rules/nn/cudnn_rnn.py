"""Recurrent layers of cuDNN, which run on GPUs only, as arithmetic that runs anywhere.

The one vector that holds all weights is taken apart as tfport's runtime does
(`runtime.ops.nn.cudnn_params`): layer by layer, direction by direction, matrices first.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from tfport.errors import CannotRun
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.recurrence import StepResult, run_cell
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import Size, Sizes
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.graph import Node, Value
from tfport.graph.shapes import Shape
from tfport.runtime.ops.nn.cudnn_params import GATES, CudnnRnnConfig
from tfport.startup.dataclass import dataclass

SHORT = (DType.parse("float16"), DType.parse("bfloat16"))
SWAPPED = (1, 0, 2)
"""The axes of a sequence with time and batch, or of states with layers and batch, swapped."""
Constants = Mapping[str, Value]
"""The values that every step reads, by name."""


@dataclass(frozen=True)
class CudnnLayers:
    """The kind and number of layers; sizes may be known only at run time."""

    mode: str
    layers: int
    directions: int
    units: Size
    inputs: Size
    skips: bool

    @property
    def gates(self) -> int:
        return GATES[self.mode]


@dataclass(frozen=True)
class CudnnWeights:
    """The weights of one direction of one layer; no input matrix for skip_input."""

    w: Value | None
    r: Value
    wb: Value
    rb: Value


@rule("CudnnRNN CudnnRNNV2 CudnnRNNV3", keeps=ROUNDING)
def as_arithmetic(op: RuleBuilder, n: Node) -> Replacement:
    """Matrix products, sigmoids and tanhs compute cuDNN's layers step by step."""
    a = n.attrs
    if a["is_training"] and a["dropout"] > 0:
        return refuse(f"dropout={a['dropout']} in training is random")
    if a.get("num_proj"):
        return refuse(f"num_proj={a['num_proj']} is not supported")
    if reader := next((user for out in n.outputs[3:] for user in out.uses), None):
        return refuse(f"`{reader}` reads the reserve space, which is for gradients")
    x, h, c, params = n.inputs[:4]
    transposed = not a.get("time_major", True)
    form = _layers(op, n, x, h, transposed)
    steps = (op.shape(x) or (None, None))[1 if transposed else 0]
    lengths = _lengths(op, n, steps)
    inputs = [
        _prepared(op, value, transposed) for value in ((x, h, c) if a["rnn_mode"] == "lstm" else (x, h))
    ]
    y, last = _run(op, form, inputs, _weights(op, form, _wide(op, params)), steps, lengths)
    dtype = x.dtype.base
    results = [_cast_back(op, value, dtype, transposed) for value in (y, *last)]
    if len(results) == 2 and n.outputs[2].uses:
        results.append(op.const(np.zeros(0, dtype.numpy), dtype))  # a cell state, which only an LSTM has
    return [*results, *[None] * (len(n.outputs) - len(results))]


def _lengths(op: RuleBuilder, n: Node, steps: int | None) -> Value | None:
    """The lengths of sequences, unless all are known to equal the number of steps."""
    if n.op != "CudnnRNNV3":
        return None
    known = op.array(n.inputs[4])
    return None if known is not None and steps is not None and (known == steps).all() else n.inputs[4]


def _layers(op: RuleBuilder, n: Node, x: Value, h: Value, transposed: bool) -> CudnnLayers:
    a = n.attrs
    for value in (x, h):
        if op.shape(value) is None:  # the op supports rank 3 only
            op.facts.set_shape(value, Shape((None,) * 3))
    known = _count(op, h, 1 if transposed else 0)
    sizes = Sizes(op)
    units, inputs = sizes.of(h)[2], sizes.of(x)[2]
    directions = 2 if a["direction"] == "bidirectional" else 1
    chosen = a["input_mode"]
    if chosen == "auto_select" and not (isinstance(units, int) and isinstance(inputs, int)):
        raise refuse("input_mode=auto_select depends on unknown sizes")
    skips = chosen == "skip_input" or (chosen == "auto_select" and units == inputs)
    return CudnnLayers(a["rnn_mode"], known // directions, directions, units, inputs, skips)


def _count(op: RuleBuilder, h: Value, axis: int) -> int:
    """The number of states, one for each layer and direction."""
    dims = op.shape(h)
    if dims is None or len(dims) != 3:
        raise refuse(f"its states have the shape {dims}; expected rank 3")
    if (known := dims[axis]) is not None:
        return known
    at = op.array(h.node.inputs[1]) if h.node.op == "ExpandDims" else None
    if at is not None and int(at.reshape(())) in (axis, axis - 3):
        return 1
    raise refuse("the number of its layers is unknown")


def _prepared(op: RuleBuilder, value: Value, transposed: bool) -> Value:
    """Time or layers as the first axis, in the dtype of the computation."""
    value = _wide(op, value)
    return op.Transpose(value, list(SWAPPED)).output(0) if transposed else value


def _wide(op: RuleBuilder, value: Value) -> Value:
    return op.Cast(value, DstT=FLOAT32).output(0) if value.dtype.base in SHORT else value


def _cast_back(op: RuleBuilder, value: Value, dtype: DType, transposed: bool) -> Value:
    if transposed:
        value = op.Transpose(value, list(SWAPPED)).output(0)
    return op.Cast(value, DstT=dtype).output(0) if dtype in SHORT else value


def _weights(op: RuleBuilder, form: CudnnLayers, params: Value) -> list[CudnnWeights]:
    """The weights of each layer and direction; the gates are stacked in the matrices."""
    known = Sizes(op)
    rows, above = known.mul(form.units, form.gates), known.mul(form.units, form.directions)
    shapes: list[list[Size]] = []
    for layer in range(form.layers):
        for _ in range(form.directions):
            if layer or not form.skips:
                shapes.append([rows, above if layer else form.inputs])
            shapes.append([rows, form.units])
    matrices = len(shapes)
    shapes += [[rows]] * (2 * form.layers * form.directions)
    sizes = known.vector([functools.reduce(known.mul, shape) for shape in shapes])
    parts = op.SplitV(op.Reshape(params, [-1]), sizes, 0, num_split=len(shapes))
    matrix = iter([op.Reshape(parts.output(i), known.vector(shapes[i])).output(0) for i in range(matrices)])
    biases = iter([parts.output(i) for i in range(matrices, len(shapes))])
    return [
        CudnnWeights(
            None if form.skips and not layer else next(matrix), next(matrix), next(biases), next(biases)
        )
        for layer in range(form.layers)
        for _ in range(form.directions)
    ]


def _run(
    op: RuleBuilder, form: CudnnLayers, inputs: list[Value], weights: list[CudnnWeights], steps: int | None,
    lengths: Value | None,
) -> tuple[Value, list[Value]]:  # fmt: skip
    """All outputs, and the final states of all layers."""
    x, *first = inputs
    count = form.layers * form.directions
    states = [op.Unpack(value, num=count, axis=0) for value in first]
    last: list[list[Value]] = [[] for _ in first]
    for layer in range(form.layers):
        outputs = []
        for way in range(form.directions):
            at = layer * form.directions + way
            directed = _backwards(op, x, lengths) if way else x
            (y,), after = run_cell(
                op, functools.partial(CELLS[form.mode], op, _step_constants(op, form, weights[at])),
                _inputs(op, form, directed, weights[at]), [state.output(at) for state in states],
                steps=steps, lengths=lengths, layers=count,
            )  # fmt: skip
            outputs.append(_backwards(op, y, lengths) if way else y)
            for mine, value in zip(last, after, strict=True):
                mine.append(value)
        x = op.ConcatV2(outputs, 2).output(0) if len(outputs) > 1 else outputs[0]
    return x, [op.Pack(mine, axis=0).output(0) for mine in last]


def _backwards(op: RuleBuilder, x: Value, lengths: Value | None) -> Value:
    """Each sequence reversed; elements after its end stay in place."""
    if lengths is None:
        return op.ReverseV2(x, [0]).output(0)
    return op.ReverseSequence(x, lengths, seq_dim=0, batch_dim=1).output(0)


def _inputs(op: RuleBuilder, form: CudnnLayers, x: Value, weights: CudnnWeights) -> Value:
    """The contribution of the input to the gates, for all steps at once: (time, batch, gates * units)."""
    bias = weights.wb if form.mode == "gru" else op.Add(weights.wb, weights.rb)
    if weights.w is None:
        product = op.ConcatV2([x] * form.gates, 2) if form.gates > 1 else x
    else:
        rows = op.Shape(x, out_type="int32")
        width = op.Shape(weights.w, out_type="int32")
        flat = op.Reshape(x, op.ConcatV2([[-1], op.StridedSlice(width, [1], [2], [1])], 0))
        shape = op.ConcatV2([op.StridedSlice(rows, [0], [2], [1]), op.StridedSlice(width, [0], [1], [1])], 0)
        product = op.Reshape(op.MatMul(flat, weights.w, transpose_b=True), shape)
    return op.Add(product, bias).output(0)


def _step_constants(op: RuleBuilder, form: CudnnLayers, weights: CudnnWeights) -> dict[str, Value]:
    constants = {"r": weights.r, "axis": op.const(1)}
    if form.mode == "gru":
        constants |= {"rb": weights.rb, "one": op.const(1, weights.rb.dtype.base)}
    return constants


def _recurrent(op: RuleBuilder, constants: Constants, h: Value) -> Node:
    return op.MatMul(h, constants["r"], transpose_b=True)


def _lstm(op: RuleBuilder, constants: Constants, row: Value, states: list[Value]) -> StepResult:
    """Gates i, f, c, o."""
    h, c = states
    gates = op.Split(constants["axis"], op.Add(row, _recurrent(op, constants, h)), num_split=4)
    i, f, g, o = (gates.output(index) for index in range(4))
    cell = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)))
    return _result(op.Mul(op.Sigmoid(o), op.Tanh(cell)), cell)


def _gru(op: RuleBuilder, constants: Constants, row: Value, states: list[Value]) -> StepResult:
    """Gates r, z, n; the reset is applied after the recurrent product."""
    (h,) = states
    of_input = op.Split(constants["axis"], row, num_split=3)
    of_state = op.Split(constants["axis"], op.Add(_recurrent(op, constants, h), constants["rb"]), num_split=3)
    reset, update = (op.Sigmoid(op.Add(of_input.output(k), of_state.output(k))) for k in (0, 1))
    new = op.Tanh(op.Add(of_input.output(2), op.Mul(reset, of_state.output(2))))
    return _result(op.Add(op.Mul(op.Sub(constants["one"], update), new), op.Mul(update, h)))


def _tanh(op: RuleBuilder, constants: Constants, row: Value, states: list[Value]) -> StepResult:
    return _result(op.Tanh(op.Add(row, _recurrent(op, constants, states[0]))))


def _relu(op: RuleBuilder, constants: Constants, row: Value, states: list[Value]) -> StepResult:
    return _result(op.Relu(op.Add(row, _recurrent(op, constants, states[0]))))


def _result(*states: Node) -> StepResult:
    """The output of a step is its first state."""
    values = [state.output(0) for state in states]
    return values[:1], values


CELLS = {"lstm": _lstm, "gru": _gru, "rnn_tanh": _tanh, "rnn_relu": _relu}


# Ops that only pack or unpack the weight vector, or compute its size.


@rule("CudnnRNNParamsSize", keeps=EXACT)
def counted_beforehand(op: RuleBuilder, n: Node) -> Replacement:
    """The size of the weight vector is computed from constant sizes."""
    return op.const(np.array([_form(op, n).size]), n.attrs["S"])


@rule("CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2", keeps=EXACT)
def one_after_another(op: RuleBuilder, n: Node) -> Replacement:
    """The weight vector has all matrices, row by row, and then all biases."""
    _form(op, n)
    return op.ConcatV2([op.Reshape(value, [-1]) for value in n.inputs[3:]], 0)


@rule("CudnnRNNParamsToCanonical CudnnRNNParamsToCanonicalV2", keeps=EXACT)
def split_into_parts(op: RuleBuilder, n: Node) -> Replacement:
    """The weight vector has all matrices, row by row, and then all biases."""
    form = _form(op, n)
    shapes: list[tuple[int, ...]] = [*form.matrices(), *[(form.units,)] * form.biases]
    if len(shapes) != len(n.outputs):
        return refuse(f"it has {len(n.outputs)} outputs; expected {len(shapes)} matrices and biases")
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = op.SplitV(op.Reshape(n.inputs[3], [-1]), sizes, 0, num_split=len(sizes))
    return [
        op.Reshape(parts.output(i), list(shape)) if len(shape) == 2 else parts.output(i)
        for i, shape in enumerate(shapes)
    ]


def _form(op: RuleBuilder, n: Node) -> CudnnRnnConfig:
    if n.attrs.get("num_proj"):
        raise refuse(f"num_proj={n.attrs['num_proj']} is not supported")
    sizes = [op.array(value) for value in n.inputs[:3]]
    if any(size is None for size in sizes):
        raise refuse("the sizes of its layers are unknown")
    layers, units, inputs = (int(np.reshape(size, ())) for size in sizes if size is not None)
    a = n.attrs
    try:
        return CudnnRnnConfig.of(a["rnn_mode"], a["input_mode"], a["direction"], layers, units, inputs)
    except CannotRun as error:
        raise refuse(str(error)) from None
