"""Scatter: updates of slices at computed starts; a slice that is not inside the tensor is left out."""

from __future__ import annotations

from typing import Any

from tfport.fix.nodes.sizes import Size
from tfport.fix.rule import refuse
from tfport.fix.stablehlo.declare import integers, translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.ops.indices import SliceAxes, SlicePositions
from tfport.fix.stablehlo.ops.reductions import combination
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import Value
from tfport.runtime.ops.xla.hlo_calls import SECOND
from tfport.runtime.ops.xla.stablehlo.interpreter import known_computation

SEGMENTS = {
    "add": "UnsortedSegmentSum", "multiply": "UnsortedSegmentProd", "maximum": "UnsortedSegmentMax",
    "minimum": "UnsortedSegmentMin",
}  # fmt: skip


@translates("scatter")
def scatter(op: HloNodes, hlo: HloOp, *operands: HloTensor, env: dict[int, Any]) -> HloTensor:
    if len(operands) != 3:
        raise refuse("stablehlo.scatter into several tensors has no translation")
    x, indices, updates = operands
    name = known_computation(hlo.regions[0])
    if name != SECOND and (name not in SEGMENTS or x.dtype == BOOL or x.dtype.is_complex):
        raise refuse(f"stablehlo.scatter of {x.dtype} with this region has no translation")
    attrs = hlo.attrs
    axes = SliceAxes(
        indexed=integers(attrs["scatter_dims_to_operand_dims"]),
        vector=int(attrs["index_vector_dim"]),
        dropped=integers(attrs["inserted_window_dims"]),
        batching=integers(attrs.get("input_batching_dims", [])),
        indices_batching=integers(attrs.get("scatter_indices_batching_dims", [])),
    )
    dims = op.dims_of(x)
    positions = SlicePositions(op, dims, indices, axes)
    inner = integers(attrs["update_window_dims"])
    update_sizes = op.dims_of(updates)
    sizes: list[Size] = [1] * x.rank
    for axis, place in zip(positions.window, inner, strict=True):
        sizes[axis] = update_sizes[place]
    rows = positions.rows(sizes)
    count = op.count(dims[:rows])
    numbers = _row_numbers(op, positions, sizes, rows, count)
    order = [*(axis for axis in range(updates.rank) if axis not in inner), *inner]
    flat = (
        op.reshaped(op.transposed(updates.value, order), [-1, *dims[rows:]])
        if None not in x.dims[rows:]
        else None
    )
    if flat is None:
        raise refuse("stablehlo.scatter of slices of unknown size has no translation")
    tensor = op.reshaped(x.value, [count, *dims[rows:]])
    wide = (x.dims[0] if rows == 1 else None, *x.dims[rows:])
    if name == SECOND:
        made = _assigned(op, op.tensor(tensor, wide), flat, numbers, count)
    else:
        made = _combined(op, hlo, op.tensor(tensor, wide), flat, numbers, count, name, env)
    return op.tensor(op.reshaped(made, dims), x.dims)


def _row_numbers(op: HloNodes, positions: SlicePositions, sizes: list[Size], rows: int, count: Size) -> Value:
    """The row of each update as a vector; of those outside the tensor, the row behind the last."""
    inside: Any = positions.inside(sizes)
    numbers: Any = positions.numbers(sizes, rows)
    steps = sum(axis < rows for axis in positions.window)
    if positions.batch and positions.axes.indexed:
        inside = op.Reshape(inside, op.vector([*positions.batch, *[1] * steps])) if steps else inside
    spread = op.LogicalAnd(inside, op.Equal(numbers, numbers))
    kept = op.Select(spread, numbers, op.AddV2(op.ZerosLike(numbers), count))
    return op.Reshape(kept, op.const([-1], INT32)).output(0)


def _assigned(op: HloNodes, x: HloTensor, updates: Value, numbers: Value, count: Size) -> Value:
    """The last update of each row replaces it."""
    places = op.Range(0, op.Size(numbers), 1)
    last = op.UnsortedSegmentMax(places, numbers, op.sizes.add(count, 1))
    last = op.Slice(last, op.const([0], INT32), op.sizes.vector([count]))
    # one more row, so that there is always a row to gather
    zeros = op.ZerosLike(
        op.Slice(x.value, op.const([0] * x.rank, INT32), op.vector([1, *(-1 for _ in x.dims[1:])]))
    )
    rows = op.ConcatV2([updates, zeros], 0)
    replaced = op.GatherV2(rows, op.Maximum(last, 0), 0)
    is_replaced = op.Reshape(op.GreaterEqual(last, 0), op.const([-1, *(1 for _ in x.dims[1:])], INT32))
    mask = HloTensor(op, x.dims, BOOL, compact=is_replaced.output(0))
    return op.each("SelectV2", mask, op.tensor(replaced, x.dims), x).value


def _combined(
    op: HloNodes, hlo: HloOp, x: HloTensor, updates: Value, numbers: Value, count: Size, name: str, env: Any
) -> Value:
    """The updates of each row are combined, and then with the row."""
    whole = op.sizes.add(count, 1)
    sums = op.node(SEGMENTS[name], updates, numbers, whole)
    ends = op.sizes.vector([count, *(-1 for _ in x.dims[1:])])
    summed = op.tensor(op.Slice(sums, op.const([0] * x.rank, INT32), ends), x.dims)
    (made,) = combination(op, hlo.regions[0], env)([x], [summed])
    if name in ("add", "multiply"):
        return made.value
    # a row without updates stays, also if it is below the lowest finite number
    counts = op.UnsortedSegmentSum(op.OnesLike(numbers), numbers, whole)
    counts = op.Slice(counts, op.const([0], INT32), op.sizes.vector([count]))
    is_updated = op.Reshape(op.Greater(counts, 0), op.const([-1, *(1 for _ in x.dims[1:])], INT32))
    mask = HloTensor(op, x.dims, BOOL, compact=is_updated.output(0))
    return op.each("SelectV2", mask, made, x).value
