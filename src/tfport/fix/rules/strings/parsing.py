"""Parsing of serialized Examples and raw bytes as the other versions of the ops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column, count_of, splits_of
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import BOOL, INT64, STRING, DType
from tfport.graph.graph import Node, Value
from tfport.runtime.ops.strings.byte_strings import attr_bytes

LONGEST_PADDING = 1 << 16
Outputs = list[Node | Value | None]


@rule("ParseExampleV2", keeps=EXACT)
def keys_one_by_one(op: RuleBuilder, n: Node) -> Replacement:
    """ParseExample takes each key as an input; ragged features become sparse ones with counted rows."""
    serialized, names, sparse, dense, ragged, *defaults = n.inputs
    dims, count = op.shape(serialized), n.attrs["num_sparse"]
    assert isinstance(count, int)
    if dims is None or len(dims) > 1:
        return refuse("the rank of its serialized input is unknown or above 1")
    types = _list(n.attrs["ragged_value_types"])
    keys = [*_each(op, sparse, count), *_each(op, ragged, len(types))]
    if not dims and types:
        return refuse("it parses a single Example into ragged features")
    parsed = op.ParseExample(
        serialized if dims else op.ExpandDims(serialized, 0),
        names if dims else op.Reshape(names, [-1]),
        keys, _each(op, dense, len(defaults)), defaults,
        sparse_types=[*_list(n.attrs["sparse_types"]), *types], dense_shapes=n.attrs["dense_shapes"],
    )  # fmt: skip
    index, values, shapes, whole = _parts(parsed, len(keys), len(defaults))
    if not dims:
        return _alone(op, index, values, shapes, whole)
    rows = _ragged_rows(op, index[count:], n.attrs["ragged_split_types"], serialized)
    return [*index[:count], *values[:count], *shapes[:count], *whole, *values[count:], *rows]


@rule("ParseExample", keeps=EXACT)
def keys_at_once(op: RuleBuilder, n: Node) -> Replacement:
    """ParseExampleV2 takes all keys as one vector."""
    sparse, dense = n.attrs["Nsparse"], n.attrs["Ndense"]
    assert isinstance(sparse, int)
    assert isinstance(dense, int)
    serialized, names, *rest = n.inputs
    keys = [_vector(op, part) for part in (rest[:sparse], rest[sparse : sparse + dense])]
    return op.ParseExampleV2(
        serialized, names, *keys, op.const([], STRING), rest[sparse + dense :],
        num_sparse=sparse, sparse_types=n.attrs["sparse_types"], dense_shapes=n.attrs["dense_shapes"],
        ragged_value_types=[], ragged_split_types=[],
    )  # fmt: skip


@rule("ParseSingleExample", keeps=EXACT)
def example_in_a_batch(op: RuleBuilder, n: Node) -> Replacement:
    """A single Example is parsed as a batch of one, and the batch axis is removed."""
    serialized, *defaults = n.inputs
    sparse, dense = (
        [attr_bytes(key) for key in _list(n.attrs[name])] for name in ("sparse_keys", "dense_keys")
    )
    parsed = op.ParseExample(
        op.ExpandDims(serialized, 0), op.const([], STRING), sparse, dense, defaults,
        sparse_types=n.attrs["sparse_types"], dense_shapes=n.attrs["dense_shapes"],
    )  # fmt: skip
    return _alone(op, *_parts(parsed, len(sparse), len(defaults)))


def _parts(parsed: Node, sparse: int, dense: int) -> tuple[list[Value], ...]:
    """The outputs of ParseExample: indices, values and shapes of sparse features, and dense features."""
    starts = (0, sparse, 2 * sparse, 3 * sparse, 3 * sparse + dense)
    outputs = [parsed.output(i) for i in range(starts[-1])]
    return tuple(outputs[a:b] for a, b in pairwise(starts))


def _alone(
    op: RuleBuilder,
    index: Sequence[Value],
    values: Sequence[Value],
    shapes: Sequence[Value],
    dense: Sequence[Value],
) -> Outputs:
    """The outputs for the only Example of a batch."""
    indices = [op.StridedSlice(tensor, [0, 1], [0, 2], [1, 1], begin_mask=1, end_mask=1) for tensor in index]
    sizes = [op.StridedSlice(tensor, [1], [2], [1]) for tensor in shapes]
    return [*indices, *values, *sizes, *(op.Squeeze(tensor, squeeze_dims=[0]) for tensor in dense)]


def _ragged_rows(op: RuleBuilder, indices: Sequence[Value], types: Attr, serialized: Value) -> Outputs:
    """The row splits of features that were parsed as sparse ones."""
    splits = [
        (_splits(op, index, serialized), dtype) for index, dtype in zip(indices, _list(types), strict=True)
    ]
    return [rows if dtype == INT64 else op.Cast(rows, DstT=dtype) for rows, dtype in splits]


def _splits(op: RuleBuilder, index: Value, serialized: Value) -> Node:
    """The row splits, from the index of each value."""
    rows = column(op, index, 0)
    count = op.Cast(count_of(op, serialized), DstT="int32")
    return splits_of(op, op.UnsortedSegmentSum(op.OnesLike(rows), rows, count))


def _each(op: RuleBuilder, keys: Value, count: int) -> list[Node | Value]:
    """The keys of a vector."""
    known = op.array(keys)
    if known is not None:
        return [op.const(attr_bytes(key)) for key in known.tolist()]
    return list(op.Unpack(keys, num=count, axis=0).outputs) if count else []


def _vector(op: RuleBuilder, keys: Sequence[Value]) -> Node | Value:
    known = [op.array(key) for key in keys]
    if all(key is not None and not key.ndim for key in known):
        return op.const([attr_bytes(key.item()) for key in known if key is not None], STRING)
    return op.Pack(list(keys))


def _list(attr: Attr) -> list[Attr]:
    assert isinstance(attr, list)
    return list(attr)


PREFIXES = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")


@rule("ParseSequenceExampleV2", keeps=EXACT)
def keys_as_attributes(op: RuleBuilder, n: Node) -> Replacement:
    """ParseSequenceExample takes constant keys as attributes; a ragged context becomes sparse."""
    serialized, debug_name, *inputs = n.inputs
    if n.attrs["feature_list_ragged_value_types"]:
        return refuse(
            "its feature lists are ragged; sparse ones of ParseSequenceExample lose steps without values"
        )
    if (dims := op.shape(serialized)) is None or len(dims) != 1:
        return refuse("its serialized input is not known to be a vector")
    known = [op.array(value) for value in inputs[:7]]
    if any(array is None for array in known):
        return refuse("its keys are not constant")
    arrays = [array.tolist() for array in known if array is not None]
    types, sparse = _list(n.attrs["context_ragged_value_types"]), len(arrays[0])
    keys = dict(zip(PREFIXES, (arrays[0] + arrays[2], arrays[1], arrays[3], arrays[4]), strict=True))
    missing = [key for key, may in zip(arrays[4], arrays[6], strict=True) if may]
    same = ("Nfeature_list_sparse", "Nfeature_list_dense", "Tcontext_dense", "feature_list_dense_types",
            "feature_list_sparse_types", "context_dense_shapes", "feature_list_dense_shapes")  # fmt: skip
    parsed = op.ParseSequenceExample(
        serialized, debug_name, inputs[7:],
        **{f"{prefix}_keys": [_text(key) for key in values] for prefix, values in keys.items()},
        feature_list_dense_missing_assumed_empty=[_text(key) for key in missing],
        context_sparse_types=[*_list(n.attrs["context_sparse_types"]), *types],
        Ncontext_sparse=sparse + len(types), Ncontext_dense=len(inputs) - 7,
        **{name: n.attrs[name] for name in same},
    )  # fmt: skip
    index, values, shapes, dense = _parts(parsed, sparse + len(types), len(arrays[1]))
    rows = _ragged_rows(op, index[sparse:], n.attrs["context_ragged_split_types"], serialized)
    lists = parsed.outputs[3 * (sparse + len(types)) + len(arrays[1]) :]
    return [*index[:sparse], *values[:sparse], *shapes[:sparse], *dense, *values[sparse:], *rows, *lists]


def _text(key: bytes) -> str | bytes:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


@rule("DecodePaddedRaw", keeps=EXACT)
def padded_then_decoded(op: RuleBuilder, n: Node) -> Replacement:
    """Strings are padded with zeros and cut to the length, and then decoded by DecodeRaw."""
    length = op.array(n.inputs[1])
    if length is None or not 0 < int(length) <= LONGEST_PADDING:
        return refuse(f"its length is not known to be 1 to {LONGEST_PADDING} bytes")
    dtype = n.attrs["out_type"]
    assert isinstance(dtype, DType)
    padded = op.Substr(op.StringJoin([n.inputs[0], b"\0" * int(length)]), 0, int(length))
    numbers = op.DecodeRaw(padded, out_type=dtype, little_endian=n.attrs["little_endian"])
    # for no strings, the last axis of DecodeRaw is empty
    shape = op.ConcatV2([op.Shape(n.inputs[0], out_type="int32"), [int(length) // dtype.numpy.itemsize]], 0)
    return op.Reshape(numbers, shape)


@rule("DecodeRaw", keeps=EXACT)
def decoded_as_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """Bools are decoded as uint8, and compared with 0."""
    if n.attrs["out_type"] != BOOL:
        return refuse("its out_type is not bool")
    return op.Greater(op.Cast(op.DecodeRaw(n.inputs[0], out_type="uint8"), DstT="int32"), 0)
