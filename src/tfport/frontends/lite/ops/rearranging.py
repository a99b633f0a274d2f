"""Tensors rearranged: other order, joined, cut, other shape, by indices."""

from __future__ import annotations

from tfport.frontends.lite.activations import activate
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32, INT64
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
    return b.PadV2(x, as_index(b, paddings), b.Reshape(value, b.const([], as_index(b, paddings).dtype)))


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
    return b.XlaPad(x, value, b.const(none, index), b.const(none, index), between).output(0)


# Tensors joined


@builtin("CONCATENATION")
def concatenation(
    b: OperatorBuilder, *values: LiteValue, axis: int = 0, fused_activation_function: str = "NONE"
) -> Value:
    joined = b.ConcatV2(list(values), axis) if len(values) > 1 else values[0]  # TensorFlow refuses one
    return activate(b, joined, fused_activation_function)


@builtin("PACK", any_type=True)
def pack(b: OperatorBuilder, *values: LiteValue, values_count: int = 0, axis: int = 0) -> Node:
    return b.Pack(list(values), axis=axis)


@builtin("ADD_N")
def add_n(b: OperatorBuilder, *values: LiteValue) -> Node:
    return b.AddN(list(values))


@builtin("DYNAMIC_UPDATE_SLICE", any_type=True)
def dynamic_update_slice(b: OperatorBuilder, x: LiteValue, update: LiteValue, start: LiteValue) -> Node:
    """A start that leaves no room for the update is moved back."""
    return b.XlaDynamicUpdateSlice(x, update, start)


# Parts of tensors


@builtin("SLICE", any_type=True)
def slice_(b: OperatorBuilder, x: LiteValue, begin: LiteValue, size: LiteValue) -> Node:
    return b.Slice(x, begin, size)


@builtin("STRIDED_SLICE", any_type=True)
def strided_slice(
    b: OperatorBuilder,
    x: LiteValue,
    begin: LiteValue,
    end: LiteValue,
    strides: LiteValue,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    offset: bool = False,
) -> Node:
    """With `offset`, the ends are sizes: counted from where each axis begins."""
    return b.StridedSlice(
        x,
        begin,
        b.Add(begin, end) if offset else end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


@builtin("SPLIT", any_type=True)
def split(b: OperatorBuilder, axis: LiteValue, x: LiteValue, *, num_splits: int) -> list[Value]:
    if axis.array is None:
        scalar = b.Reshape(axis, b.const([], INT32))
        return _outputs(b, b.Split(scalar, x, num_split=num_splits))
    return _outputs(b, b.Split(int(axis.array.reshape(-1)[0]), x, num_split=num_splits))


@builtin("SPLIT_V", any_type=True)
def split_v(
    b: OperatorBuilder, x: LiteValue, sizes: LiteValue, axis: LiteValue, *, num_splits: int
) -> list[Value]:
    scalar = b.Reshape(axis, b.const([], INT32))
    return _outputs(b, b.SplitV(x, sizes, scalar, num_split=num_splits))


@builtin("UNPACK", any_type=True)
def unpack(b: OperatorBuilder, x: LiteValue, *, num: int = 0, axis: int = 0) -> list[Value]:
    return _outputs(b, b.Unpack(x, num=num, axis=axis))


def _outputs(b: OperatorBuilder, node: Node) -> list[Value]:
    return [node.output(index) for index in range(len(b.operator.outputs))]


# Shapes: asked for, changed without moving elements, and filled


@builtin("RESHAPE", any_type=True)
def reshape(
    b: OperatorBuilder,
    x: LiteValue,
    shape: LiteValue | None = None,
    *,
    new_shape: tuple[int, ...] | None = None,
) -> Node:
    """The second input says the shape; older files have it as an option, where `[0]` means a scalar."""
    if shape is not None and shape.dtype == INT32 and (shape.rank == 1 or shape.load is None):
        return b.Reshape(x, shape)
    sizes = [] if new_shape is None or tuple(new_shape) == (0,) else list(new_shape)
    return b.Reshape(x, b.const(sizes, INT32))


@builtin("SHAPE", any_type=True)
def shape_of(b: OperatorBuilder, x: LiteValue, *, out_type: str) -> Node:
    return b.Shape(x, out_type=INT64 if out_type == "INT64" else INT32)


@builtin("RANK", any_type=True)
def rank(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Rank(x)


@builtin("EXPAND_DIMS", any_type=True)
def expand_dims(b: OperatorBuilder, x: LiteValue, axis: LiteValue) -> Node:
    return b.ExpandDims(x, axis if axis.array is None else int(axis.array.reshape(-1)[0]))


@builtin("SQUEEZE", any_type=True)
def squeeze(b: OperatorBuilder, x: LiteValue, *, squeeze_dims: tuple[int, ...] | None = None) -> Node:
    return b.Squeeze(x, squeeze_dims=list(squeeze_dims or ()))


@builtin("BROADCAST_TO", any_type=True)
def broadcast_to(b: OperatorBuilder, x: LiteValue, shape: LiteValue) -> Node:
    return b.BroadcastTo(x, shape)


@builtin("BROADCAST_ARGS")
def broadcast_args(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.BroadcastArgs(x, y)


@builtin("FILL", any_type=True)
def fill(b: OperatorBuilder, shape: LiteValue, value: LiteValue) -> Node:
    return b.Fill(shape, value)


@builtin("ZEROS_LIKE")
def zeros_like(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.ZerosLike(x)


@builtin("RANGE")
def range_(b: OperatorBuilder, start: LiteValue, limit: LiteValue, delta: LiteValue) -> Node:
    return b.Range(start, limit, delta)


@builtin("TILE", any_type=True)
def tile(b: OperatorBuilder, x: LiteValue, multiples: LiteValue) -> Node:
    return b.Tile(x, as_index(b, multiples))


# Elements by their indices


@builtin("GATHER", any_type=True)
def gather(
    b: OperatorBuilder, x: LiteValue, indices: LiteValue, *, axis: int = 0, batch_dims: int = 0
) -> Node:
    return b.GatherV2(x, as_index(b, indices), axis, batch_dims=batch_dims)


@builtin("GATHER_ND", any_type=True)
def gather_nd(b: OperatorBuilder, x: LiteValue, indices: LiteValue) -> Node:
    return b.GatherNd(x, as_index(b, indices))


@builtin("SCATTER_ND", any_type=True)
def scatter_nd(b: OperatorBuilder, indices: LiteValue, updates: LiteValue, shape: LiteValue) -> Node:
    return b.ScatterNd(indices, updates, shape)


@builtin("SPARSE_TO_DENSE", any_type=True)
def sparse_to_dense(
    b: OperatorBuilder,
    indices: LiteValue,
    shape: LiteValue,
    values: LiteValue,
    default: LiteValue,
    *,
    validate_indices: bool = False,
) -> Node:
    return b.SparseToDense(indices, shape, values, default, validate_indices=False)


@builtin("ONE_HOT", any_type=True)
def one_hot(
    b: OperatorBuilder, indices: LiteValue, depth: LiteValue, on: LiteValue, off: LiteValue, *, axis: int = 0
) -> Node:
    return b.OneHot(indices, depth, on, off, axis=axis)


def as_index(b: OperatorBuilder, x: LiteValue) -> Value:
    """Integers of a type that TensorFlow's ops accept as indices."""
    return b.value(x) if x.dtype in (INT32, INT64) else b.cast(x, INT32)
