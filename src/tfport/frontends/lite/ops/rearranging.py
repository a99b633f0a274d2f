"""Elements in another order, and between others."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.ops.gathering import as_index
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value


@builtin("TRANSPOSE", any_type=True)
def transpose(b: OperatorBuilder, x: LiteValue, permutation: LiteValue) -> Node:
    return b.Transpose(x, permutation)


@builtin("PAD", any_type=True)
def pad(b: OperatorBuilder, x: LiteValue, paddings: LiteValue) -> Node:
    """New elements stand for zero."""
    if not x.is_quantized:
        return b.Pad(x, as_index(b, paddings))
    quantization = b.outputs[0].quantization
    zero = quantization.zero_point[0] if quantization and quantization.zero_point else 0
    return b.PadV2(x, as_index(b, paddings), zero)


@builtin("PADV2", any_type=True)
def pad_v2(b: OperatorBuilder, x: LiteValue, paddings: LiteValue, value: LiteValue | None = None) -> Node:
    if value is None:
        return pad(b, x, paddings)
    return b.PadV2(x, as_index(b, paddings), b.Reshape(value, b.constant([], as_index(b, paddings).dtype)))


@builtin("MIRROR_PAD", any_type=True)
def mirror_pad(b: OperatorBuilder, x: LiteValue, paddings: LiteValue, *, mode: str = "REFLECT") -> Node:
    return b.MirrorPad(x, paddings, mode=mode)


@builtin("REVERSE_V2", any_type=True)
def reverse(b: OperatorBuilder, x: LiteValue, axis: LiteValue) -> Node:
    return b.ReverseV2(x, axis)


@builtin("REVERSE_SEQUENCE", any_type=True)
def reverse_sequence(
    b: OperatorBuilder, x: LiteValue, lengths: LiteValue, *, seq_dim: int = 0, batch_dim: int = 0
) -> Node:
    return b.ReverseSequence(x, lengths, seq_dim=seq_dim, batch_dim=batch_dim)


@builtin("MATRIX_DIAG", any_type=True)
def matrix_diag(b: OperatorBuilder, diagonal: LiteValue) -> Node:
    return b.MatrixDiag(diagonal)


@builtin("MATRIX_SET_DIAG", any_type=True)
def matrix_set_diag(b: OperatorBuilder, x: LiteValue, diagonal: LiteValue) -> Node:
    return b.MatrixSetDiag(x, diagonal)


@builtin("DILATE", any_type=True)
def dilate(b: OperatorBuilder, x: LiteValue, dilations: LiteValue, value: LiteValue) -> Value:
    """Copies of a value between the elements."""
    none = [0] * x.rank
    between = b.Sub(as_index(b, dilations), 1)
    index = b.value(between).dtype
    return b.XlaPad(x, value, b.constant(none, index), b.constant(none, index), between).output(0)
