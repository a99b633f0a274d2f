"""The ops that TensorFlow Lite has and TensorFlow does not: their inputs, outputs and attributes.

Their kernels are in `runtime.ops.lite`. An operator becomes one of these only where no TensorFlow op, or
short composition of them, computes the same.

A line that starts with blanks continues a definition. Quantized tensors are uint8 or int16; see
`quantized_value`. `scales` of LiteConv are those of input, output and filter where a kernel computes with
real numbers. `multiplier` and `shift` are real factors as in `fixed_point`; `x_zero`, `y_zero` zero points;
`low` and `high` the range of the output after its activation. LiteFunction is a LiteLookup in a table of a
known function: engines compute the function, which is faster than a lookup.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.op_signature import OpSignature, OpTable
from tfport.graph.op_spec import definition, pieces

TEXT = """
LiteHybridInput(x: float) -> y: float; asymmetric: bool = false; axis: int = 1
LiteSkipGram(x: string) -> y: string; ngram_size: int; max_skip_size: int; include_all_ngrams: bool
LiteLshProjection(hash: float, input: T, weight: float) -> y: int32; T: type; sparse: bool
LiteLstm(x: float, weights: float, recurrent: float, bias: float, peephole: float, norm: float,
    projection: float, projection_bias: float, output_state: float, cell_state: float)
    -> y: float, last_output: float, last_cell: float; activation: string = "TANH"; cell_clip: float = 0.0;
    projection_clip: float = 0.0; rounding: string = ""
LiteEmbeddingLookupSparse(ids: int32, indices: int32, shape: int32, weights: float, table: float)
    -> y: float; combiner: string = "SUM"
LiteNonMaxSuppression(boxes: float, scores: float, most: int32, overlap: float, lowest: float, sigma: float)
    -> selected: int32, kept: float, count: int32
LiteRnn(x: float, weights: float, recurrent: float, bias: float, state: float) -> y: float, last: float;
    activation: string = "TANH"; rounding: string = ""
"""


@functools.cache
def lite_definitions() -> Mapping[str, OpDef]:
    """The definitions by name; each line is `Name(inputs) -> outputs; attribute; …`."""
    text = re.sub(r"\n +", " ", TEXT + QUANTIZED_TEXT)
    lines = (line for line in text.splitlines() if line.strip())
    return {op_def.name: op_def for op_def in map(_definition, lines)}


def _definition(line: str) -> OpDef:
    signature, *attrs = (text for _, text in pieces(line, ";"))
    head, _, outputs = signature.partition("->")
    name, _, inputs = head.strip().removesuffix(")").partition("(")
    stateful = "stateful" in attrs
    op_def = definition(
        name.strip(),
        [attr for attr in attrs if attr != "stateful"],
        [text for _, text in pieces(inputs, ",") if text],
        [text for _, text in pieces(outputs, ",") if text],
    )
    op_def.is_stateful = stateful
    return op_def


class LiteOpTable(OpTable):
    """The signatures of these ops and of TensorFlow's."""

    def get(self, op: str) -> OpSignature | None:
        own = lite_definitions().get(op)
        return super().get(op) if own is None else _signature(op)


@functools.cache
def _signature(op: str) -> OpSignature:
    return OpSignature(lite_definitions()[op])


# Ops on quantized tensors

QUANTIZED_TEXT = """
LiteUnsigned(x: int8) -> y: uint8
LiteSigned(x: uint8) -> y: int8
LiteQuantize(x: float) -> y: T; T: type; scale: list(float); zero_point: list(int); axis: int;
    low: int; high: int
LiteDequantize(x: T) -> y: float; T: type; scale: list(float); zero_point: list(int); axis: int
LiteLookup(x: S, table: T) -> y: T; S: type; T: type
LiteFunction(x: uint8, table: uint8) -> y: uint8; function: string; alpha: float = 0.0; x_scale: float;
    x_zero: int; y_scale: float; y_zero: int; low: int; high: int
LiteRescale(x: S) -> y: T; S: type; T: type; multiplier: int; shift: int; x_zero: int; y_zero: int;
    low: int; high: int
LiteConv(x: T, filter: int8, bias: B) -> y: U; T: type; U: type; B: type; strides: list(int);
    dilations: list(int); padding: string; groups: int; multiplier: list(int); shift: list(int);
    x_zero: int; filter_zero: int; y_zero: int; low: int; high: int; scales: list(float) = []
LiteAdd(x: T, other: T) -> y: T; T: type; subtract: bool; left_shift: int; x_multiplier: int; x_shift: int;
    other_multiplier: int; other_shift: int; multiplier: int; shift: int; x_zero: int; other_zero: int;
    y_zero: int; low: int; high: int
LiteAddPowersOfTwo(x: T, other: T) -> y: T; T: type; subtract: bool; x_shift: int; other_shift: int;
    low: int; high: int
LiteMul(x: T, other: T) -> y: T; T: type; multiplier: int; shift: int; x_zero: int; other_zero: int;
    y_zero: int; low: int; high: int
LiteDiv(x: T, other: T) -> y: T; T: type; multiplier: int; shift: int; x_zero: int; other_zero: int;
    y_zero: int; low: int; high: int
LiteSquaredDifference(x: T, other: T) -> y: T; T: type; x_multiplier: int; x_shift: int;
    other_multiplier: int; other_shift: int; multiplier: int; shift: int; x_zero: int; other_zero: int;
    y_zero: int; low: int; high: int
LitePrelu(x: T, alpha: T) -> y: T; T: type; multiplier: int; shift: int; alpha_multiplier: int;
    alpha_shift: int; x_zero: int; alpha_zero: int; y_zero: int; low: int; high: int
LiteAveragePool(x: T) -> y: T; T: type; ksize: list(int); strides: list(int); padding: string; offset: int;
    low: int; high: int
LiteMean(x: T, axes: I) -> y: T; T: type; I: type; keep_dims: bool; divide: bool; multiplier: int; shift: int;
    x_zero: int; y_zero: int; low: int; high: int
LiteProd(x: T, axes: I) -> y: T; T: type; I: type; keep_dims: bool; x_scale: float; y_scale: float;
    x_zero: int; y_zero: int; low: int; high: int
LiteSoftmax(x: T) -> y: U; T: type; U: type; beta: float; scale: float
LiteLogSoftmax(x: T) -> y: T; T: type; scale: float
LiteL2Normalization(x: T) -> y: T; T: type; x_zero: int; signed: bool
LiteResizeBilinear(x: T, size: int32) -> y: T; T: type; align_corners: bool; half_pixel_centers: bool;
    offset: int; in_integers: bool
LiteTransposeConv(size: int32, x: T, filter: int8, bias: B) -> y: T; T: type; B: type; strides: list(int);
    padding: string; multiplier: list(int); shift: list(int); x_zero: int; filter_zero: int; y_zero: int;
    low: int; high: int
LiteBatchMatMul(x: T, other: T) -> y: T; T: type; adj_x: bool; adj_y: bool; multiplier: int; shift: int;
    x_zero: int; other_zero: int; y_zero: int; low: int; high: int
LiteIntegerLstm(x: int8, weights: int8, recurrent: int8, bias: int32, projection: int8,
    projection_bias: int32, peephole: int16, norm: int16, state: int8, cell: int16)
    -> y: int8, new_state: int8, new_cell: int16;
    gates: int; multiplier: list(int); shift: list(int); recurrent_multiplier: list(int);
    recurrent_shift: list(int); hidden_multiplier: int; hidden_shift: int; hidden_zero: int;
    projection_multiplier: int; projection_shift: int; x_zero: int; state_zero: int; cell_power: int;
    cell_clip: int; projection_clip: int; time_major: bool;
    peephole_multiplier: list(int); peephole_shift: list(int); norm_multiplier: list(int);
    norm_shift: list(int); norm_guard: list(int)
LiteIntegerSvdf(x: int8, features: int8, times: int16, bias: int32, state: int16) -> y: int8,
    new_state: int16; rank: int; multiplier: list(int); shift: list(int); x_zero: int; y_zero: int
"""
