"""LSTM layers: one step or sequences, in one or both directions.

The gates are those of input, forget, cell and output, in this order. A layer without input gate has one
less the forget gate: the sigmoid of the negated sums of that gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.recurrent import (
    LstmOptions,
    backward,
    nothing,
    over_time,
    real,
    rounded,
    rounding,
    stacked,
)
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value

Inputs = Sequence[LiteValue | None]
AUXILIARY, AUXILIARY_WEIGHTS = 39, 40


@builtin("UNIDIRECTIONAL_SEQUENCE_LSTM")
def sequence_lstm(
    b: OperatorBuilder,
    x: LiteValue,
    *rest: LiteValue | None,
    time_major: bool,
    options: LstmOptions = LstmOptions,  # type: ignore[assignment]
) -> Value:
    layer = _layer(b, x, rest[:17], rest[19:], asymmetric=options.asymmetric_quantize_inputs)
    sequence = rounded(b, over_time(b, x, time_major=time_major), layer["rounding"])
    y = _run(b, sequence, layer, rest[17:19], 18, options)
    return over_time(b, y, time_major=time_major)


@builtin("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_lstm(
    b: OperatorBuilder,
    x: LiteValue,
    *rest: LiteValue | None,
    merge_outputs: bool,
    time_major: bool,
    options: LstmOptions = LstmOptions,  # type: ignore[assignment]
) -> Any:
    """The second half of the weights reads the sequence backward; an auxiliary input joins the first."""
    inputs: Inputs = [x, *rest, *[None] * (48 - len(rest) - 1)]
    outputs = []
    for direction, states in enumerate((35, 37)):
        weights = inputs[1 + 17 * direction : 18 + 17 * direction]
        layer = _layer(b, x, weights, (), asymmetric=options.asymmetric_quantize_inputs)
        sequence = rounded(b, over_time(b, x, time_major=time_major), layer["rounding"])
        first = AUXILIARY_WEIGHTS + 4 * direction
        sequence = _with_auxiliary(
            b, sequence, layer, inputs[AUXILIARY], inputs[first : first + 4], time_major=time_major
        )
        if direction:
            sequence = backward(b, sequence)
        y = _run(b, sequence, layer, inputs[states : states + 2], states, options)
        outputs.append(over_time(b, backward(b, y) if direction else y, time_major=time_major))
    return b.ConcatV2(outputs, 2) if merge_outputs else outputs


@builtin("LSTM")
def lstm(
    b: OperatorBuilder,
    x: LiteValue,
    *rest: LiteValue | None,
    kernel_type: str,
    options: LstmOptions = LstmOptions,  # type: ignore[assignment]
) -> Any:
    """One step."""
    if kernel_type == "BASIC":
        return _basic(b, x, *rest)
    layer = _layer(b, x, rest[:17], rest[19:], asymmetric=options.asymmetric_quantize_inputs)
    sequence = rounded(b, b.ExpandDims(x, 0).output(0), layer["rounding"])
    y = b.Squeeze(_run(b, sequence, layer, rest[17:19], 18, options), squeeze_dims=[0])
    return [y] if len(b.outputs) == 1 else [*_scratch(b), y]


def _basic(b: OperatorBuilder, x: Any, state: Any, weights: Any, bias: Any, cell: Any) -> list[Any]:
    """Gates of input, cell, forget and output in one product; two outputs are what it was made of."""
    joined = b.ConcatV2([x, state], 1)
    sums = b.BiasAdd(b.MatMul(joined, weights, transpose_b=True), b.Reshape(bias, [-1]))
    gates = b.Split(1, sums, num_split=4)
    enter, new, forget, leave = (gates.output(index) for index in range(4))
    cell = b.AddV2(b.Mul(b.Sigmoid(enter), b.Tanh(new)), b.Mul(b.Sigmoid(forget), cell))
    y = b.Mul(b.Sigmoid(leave), b.Tanh(cell))
    b.keep(1, y)
    b.keep(4, cell)
    return [y, cell, joined, sums]


def _scratch(b: OperatorBuilder) -> list[Node]:
    """Zeros for outputs of old files that only kernels use."""
    return [b.Fill(list(output.shape), 0.0) for output in b.outputs[:-1]]


def _layer(
    b: OperatorBuilder, x: LiteValue, inputs: Inputs, norms: Inputs, *, asymmetric: bool
) -> dict[str, Any]:
    """The weights of all gates, from the inputs of one direction."""
    weights, recurrent, peephole = inputs[0:4], inputs[4:8], inputs[8:11]
    forget = weights[1]
    if forget is None:
        raise b.refuse("it has no weights of the forget gate")
    norms = list(norms) if any(norm is not None for norm in norms) else []
    return {
        "has_input_gate": weights[0] is not None,
        "weights": _gates(b, x, weights),
        "recurrent": _gates(b, x, recurrent),
        "bias": _gates(b, x, inputs[11:15]),
        "peephole": _peephole(b, x, peephole),
        "norm": stacked(b, [norms[0] or norms[1], *norms[1:4]]) if norms else nothing(b),
        "projection": real(b, x, inputs[15]) if inputs[15] is not None else nothing(b),
        "projection_bias": inputs[16] if inputs[16] is not None else nothing(b),
        "rounding": rounding(x, forget, asymmetric=asymmetric),
    }


def _gates(b: OperatorBuilder, x: LiteValue, parts: Inputs) -> Value:
    """Stacked weights or biases; the input gate is the negated forget gate if it is left out."""
    present = [None if part is None else real(b, x, part) for part in parts]
    return stacked(b, [b.Neg(present[1]) if present[0] is None else present[0], *present[1:]])


def _peephole(b: OperatorBuilder, x: LiteValue, parts: Inputs) -> Value:
    if parts[1] is None:
        return nothing(b)
    return _gates(b, x, parts)


def _with_auxiliary(
    b: OperatorBuilder,
    sequence: Value,
    layer: dict[str, Any],
    auxiliary: LiteValue | None,
    weights: Inputs,
    *,
    time_major: bool,
) -> Value:
    """A sequence with a second one beside it; weights of the second join those of the first."""
    if auxiliary is None or weights[1] is None:
        return sequence
    second = rounded(b, over_time(b, auxiliary, time_major=time_major), layer["rounding"])
    layer["weights"] = b.ConcatV2([layer["weights"], _gates(b, auxiliary, weights)], 1)
    return b.ConcatV2([sequence, second], 2).output(0)


def _run(
    b: OperatorBuilder,
    sequence: Value,
    layer: dict[str, Any],
    states: Inputs,
    index: int,
    options: LstmOptions,
) -> Value:
    """The outputs of a sequence; the states are kept for the next invocation."""
    names = ("weights", "recurrent", "bias", "peephole", "norm", "projection", "projection_bias")
    node = b.LiteLstm(
        sequence, *(layer[name] for name in names), *states, rounding=layer["rounding"], **options.attrs
    )
    b.keep(index, node.output(1))
    b.keep(index + 1, node.output(2))
    return node.output(0)
