"""Ragged tensors: conversion to dense and sparse, gathering, and ranges."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import (
    column,
    count_of,
    indices_of,
    lengths_of,
    longest,
    splits_of,
    starts_of,
    wide,
)
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.building.sizes import item
from tfport.graph.dtypes import INT64, DType
from tfport.graph.graph import Node, Value

Size = Node | Value


@rule("RaggedTensorToSparse", keeps=EXACT)
def sparse_by_places(op: RuleBuilder, n: Node) -> Replacement:
    """The index of a value is, for each level, its row and its index in the row."""
    values = n.inputs[-1]
    if (dims := op.shape(values)) is None or len(dims) != 1:
        return refuse("its values are not known to be a vector")
    splits = [wide(op, value) for value in n.inputs[:-1]]
    lengths = [lengths_of(op, row_splits) for row_splits in splits]
    sizes = [count_of(op, lengths[0]), *(longest(op, row_lengths) for row_lengths in lengths)]
    index: Size = indices_of(op, lengths[0])
    for row_lengths in lengths[1:]:
        index = _deeper(op, index, indices_of(op, row_lengths))
    return [index.output(0) if isinstance(index, Node) else index, values, op.Pack(sizes)]


def _deeper(op: RuleBuilder, index: Size, indices: Node) -> Node:
    """The index of each value of the next level, from the index of its row."""
    rows, within = column(op, indices, 0), column(op, indices, 1)
    return op.ConcatV2([op.Gather(index, rows), op.ExpandDims(within, 1)], 1)


@rule("RaggedTensorToTensor", keeps=EXACT)
def dense_by_places(op: RuleBuilder, n: Node) -> Replacement:
    """Each element of the result is gathered from the values, with the default appended."""
    shape, values, default, *partitions = n.inputs
    rows, levels = _levels(op, partitions, n.attrs["row_partition_types"])
    asked = _asked(op, shape, 1 + len(levels))
    first = rows if asked[0] is None else _unless_open(op, asked[0], rows)
    ids = op.Range(op.const(0, INT64), op.Minimum(rows, first), op.const(1, INT64))
    index: Size = op.ExpandDims(ids, 1)
    sizes = [first]
    for (lengths, starts), size in zip(levels, asked[1:], strict=True):
        most = longest(op, lengths)
        sizes.append(most if size is None else _unless_open(op, size, most))
        indices = indices_of(op, op.Minimum(op.Gather(lengths, ids), sizes[-1]))
        in_row = op.Gather(op.Gather(starts, ids), column(op, indices, 0))
        index, ids = _deeper(op, index, indices), op.Add(in_row, column(op, indices, 1))
    behind = count_of(op, values)
    where = op.SparseToDense(index, op.Pack(sizes), ids, behind)
    return op.Gather(op.ConcatV2([values, _element(op, values, default)], 0), where)


def _levels(op: RuleBuilder, tensors: Sequence[Value], types: object) -> tuple[Size, list[tuple[Size, Size]]]:
    """The number of rows, and for each level the lengths and offsets of its rows."""
    assert isinstance(types, list)
    kinds = [name.decode() if isinstance(name, bytes) else str(name) for name in types]
    parts = [wide(op, value) for value in tensors]
    if kinds[0] == "FIRST_DIM_SIZE":
        above, kinds, parts = op.Reshape(parts[0], []), kinds[1:], parts[1:]
    else:
        above = count_of(op, lengths_of(op, parts[0]))
    rows: Size = above
    levels: list[tuple[Size, Size]] = []
    for part, kind in zip(parts, kinds, strict=True):
        if kind == "ROW_SPLITS":
            lengths = lengths_of(op, part)
        elif kind == "VALUE_ROWIDS":
            count = op.Cast(above, DstT="int32")
            lengths = op.UnsortedSegmentSum(op.OnesLike(part), part, count)
        else:
            raise refuse(f"its row partition type is {kind}")
        levels.append((lengths, starts_of(op, lengths)))
        above = op.Sum(lengths, [0])
    return rows, levels


def _asked(op: RuleBuilder, shape: Value, rank: int) -> list[Size | None]:
    """The requested sizes, None for an open one; sizes of the elements are not changed."""
    known, dims = op.array(shape), op.shape(shape)
    if known is not None:
        sizes = known.reshape(-1).tolist()
        sizes = [-1] * rank if known.ndim == 0 else sizes
        return [None if size < 0 else op.const(size, INT64) for size in sizes[:rank]]
    if dims is None or len(dims) != 1:
        raise refuse("the requested shape is not known to be a vector")
    wanted = wide(op, shape)
    return [item(op, wanted, i) for i in range(rank)]


def _unless_open(op: RuleBuilder, asked: Size, actual: Size) -> Size:
    """The requested size, or the actual one for -1."""
    if op.array(asked.output(0) if isinstance(asked, Node) else asked) is not None:
        return asked
    return op.Select(op.Less(asked, op.const(0, INT64)), actual, asked)


def _element(op: RuleBuilder, values: Value, default: Value) -> Size:
    """The default as an element of the values."""
    dims, spread = op.shape(values), op.shape(default)
    if dims is not None and len(dims) == 1:
        return op.Reshape(default, [1])
    if spread == ():
        inner = op.StridedSlice(op.Shape(values, out_type="int32"), [1], [0], [1], end_mask=1)
        return op.ExpandDims(op.Fill(inner, default), 0)
    if dims is None or spread is None or spread != dims[1:] or None in spread:
        raise refuse(
            f"its default of shape {spread} is not known to match elements of values of shape {dims}"
        )
    return op.ExpandDims(default, 0)


@rule("RaggedGather", keeps=EXACT)
def rows_gathered_by_places(op: RuleBuilder, n: Node) -> Replacement:
    """The values of each requested row are gathered from its start, for its length."""
    *nested, values, indices = n.inputs
    if (dims := op.shape(indices)) is None or len(dims) != 1:
        return refuse("its indices are not known to be a vector")
    ids: Size = wide(op, indices)
    out: list[Node | Value | None] = []
    dtype = n.attrs["Tsplits"]
    for splits in (wide(op, row_splits) for row_splits in nested):
        lengths = op.Gather(lengths_of(op, splits), ids)
        pairs = indices_of(op, lengths)
        starts = op.Gather(op.Gather(splits, ids), column(op, pairs, 0))
        ids = op.Add(starts, column(op, pairs, 1))
        out.append(_as(op, splits_of(op, lengths), dtype))
    return [*out, op.Gather(values, ids)]


@rule("RaggedRange", keeps=EXACT)
def ranges_by_places(op: RuleBuilder, n: Node) -> Replacement:
    """Each value of a row is its start plus its index times delta."""
    dtype = n.attrs["T"]
    if not isinstance(dtype, DType) or not dtype.is_integer:
        return refuse(f"{dtype} numbers are accumulated one by one, and rounded each time")
    starts, limits, deltas = (wide(op, value) for value in n.inputs)
    steps = op.Neg(op.FloorDiv(op.Sub(starts, limits), deltas))
    lengths = op.Reshape(op.Maximum(steps, op.const(0, INT64)), [-1])
    indices = indices_of(op, lengths)
    rows, within = column(op, indices, 0), op.Cast(column(op, indices, 1), DstT=dtype)
    start, delta = (_of_rows(op, n.inputs[i], lengths, rows) for i in (0, 2))
    return [_as(op, splits_of(op, lengths), n.attrs["Tsplits"]), op.Add(start, op.Mul(within, delta))]


def _of_rows(op: RuleBuilder, value: Value, lengths: Node, rows: Node) -> Node:
    """Spread one number per row, or one for all rows, to the values."""
    zeros = op.Cast(op.ZerosLike(lengths), DstT=value.dtype.base)
    return op.Gather(op.Add(zeros, value), rows)


def _as(op: RuleBuilder, splits: Node, dtype: object) -> Node:
    return splits if dtype == INT64 else op.Cast(splits, DstT=dtype)
