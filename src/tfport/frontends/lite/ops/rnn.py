"""Simple recurrent layers and SVDF, with the states that they keep between invocations."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.activations import activate
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.hybrid import rounded_rows
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.recurrent import SvdfOptions, backward, over_time, real, rounded, rounding
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Value


@builtin("RNN")
def rnn(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    recurrent: LiteValue,
    bias: LiteValue,
    state: LiteValue,
    *,
    fused_activation_function: str,
    asymmetric_quantize_inputs: bool,
) -> Any:
    """One step."""
    how = rounding(x, weights, asymmetric=asymmetric_quantize_inputs)
    sequence = rounded(b, b.ExpandDims(x, 0).output(0), how)
    y = _run(b, sequence, x, (weights, recurrent, bias, state), 4, fused_activation_function, how)
    return b.Squeeze(y, squeeze_dims=[0])


@builtin("UNIDIRECTIONAL_SEQUENCE_RNN")
def sequence_rnn(
    b: OperatorBuilder,
    x: LiteValue,
    weights: LiteValue,
    recurrent: LiteValue,
    bias: LiteValue,
    state: LiteValue,
    *,
    time_major: bool,
    fused_activation_function: str,
    asymmetric_quantize_inputs: bool,
) -> Value:
    how = rounding(x, weights, asymmetric=asymmetric_quantize_inputs)
    sequence = rounded(b, over_time(b, x, time_major=time_major), how)
    y = _run(b, sequence, x, (weights, recurrent, bias, state), 4, fused_activation_function, how)
    return over_time(b, y, time_major=time_major)


@builtin("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_rnn(
    b: OperatorBuilder,
    x: LiteValue,
    *rest: LiteValue | None,
    time_major: bool,
    fused_activation_function: str,
    merge_outputs: bool,
    asymmetric_quantize_inputs: bool,
) -> Any:
    """An auxiliary input with weights joins the first; without weights, it is what the second half reads."""
    auxiliary, *auxiliary_weights = [*rest[8:], None, None, None][:3]
    outputs = []
    for direction in range(2):
        weights, recurrent, bias, state = rest[4 * direction : 4 * direction + 4]
        if weights is None or recurrent is None or bias is None or state is None:
            raise b.refuse("some of its weights are left out")
        how = rounding(x, weights, asymmetric=asymmetric_quantize_inputs)
        reads_other = direction and auxiliary is not None and auxiliary_weights[0] is None
        sequence = rounded(b, over_time(b, auxiliary if reads_other else x, time_major=time_major), how)
        matrix, more = real(b, x, weights), auxiliary_weights[direction]
        if auxiliary is not None and more is not None:
            second = rounded(b, over_time(b, auxiliary, time_major=time_major), how)
            sequence = b.ConcatV2([sequence, second], 2).output(0)
            matrix = b.ConcatV2([matrix, real(b, x, more)], 1)
        sequence = backward(b, sequence) if direction else sequence
        parts = (matrix, recurrent, bias, state)
        y = _run(b, sequence, x, parts, 4 + 4 * direction, fused_activation_function, how)
        outputs.append(over_time(b, backward(b, y) if direction else y, time_major=time_major))
    return b.ConcatV2(outputs, 2) if merge_outputs else outputs


def _run(
    b: OperatorBuilder, sequence: Value, x: LiteValue, parts: Any, index: int, activation: str, how: str
) -> Value:
    """The outputs of a sequence; the state is kept for the next invocation."""
    weights, recurrent, bias, state = parts
    matrix = real(b, x, weights) if isinstance(weights, LiteValue) else weights
    node = b.LiteRnn(
        sequence, matrix, real(b, x, recurrent), bias, state, activation=activation, rounding=how
    )
    b.keep(index, node.output(1))
    return node.output(0)


@builtin("SVDF")
def svdf(
    b: OperatorBuilder,
    x: LiteValue,
    features: LiteValue,
    times: LiteValue,
    bias: LiteValue | None,
    state: LiteValue,
    *,
    options: SvdfOptions = SvdfOptions,  # type: ignore[assignment]
) -> Value:
    """Filters of the input, a memory of their last results, and a sum over it weighted by time."""
    filters, memory = times.record.shape
    how = rounding(x, features, asymmetric=options.asymmetric_quantize_inputs)
    rows = rounded_rows(b, x, asymmetric=how == "asymmetric") if how else x
    newest = b.MatMul(rows, real(b, x, features), transpose_b=True)
    before = b.Reshape(state, [-1, filters, memory])
    older = b.StridedSlice(before, [0, 0, 1], [0, 0, memory], [1, 1, 1], begin_mask=3, end_mask=3)
    recent = b.ConcatV2([older, b.ExpandDims(newest, 2)], 2)
    b.keep(4, b.Reshape(recent, [-1, filters * memory]))
    weighted = b.Sum(b.Mul(recent, real(b, x, times)), [2])
    y = b.Sum(b.Reshape(weighted, [-1, filters // max(options.rank, 1), options.rank]), [2])
    return activate(b, y if bias is None else b.BiasAdd(y, bias), options.fused_activation_function)
