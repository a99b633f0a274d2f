"""Gather: slices of a tensor at computed starts, which are moved into the tensor."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.fix.nodes.sizes import Size
from tfport.fix.rule import refuse
from tfport.fix.stablehlo.declare import integers, translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.ops.indices import SliceAxes, SlicePositions
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp


@translates("gather")
def gather(op: HloNodes, hlo: HloOp, x: HloTensor, indices: HloTensor) -> HloTensor:
    return _gathered(op, hlo, x, indices, integers(hlo.attrs["slice_sizes"]))


@translates("dynamic_gather")
def dynamic_gather(op: HloNodes, hlo: HloOp, x: HloTensor, indices: HloTensor, sizes: HloTensor) -> HloTensor:
    if sizes.array is not None:
        return _gathered(op, hlo, x, indices, integers(sizes.array))
    parts = op.Unpack(op.whole_number(sizes), num=x.rank, axis=0).outputs
    return _gathered(op, hlo, x, indices, list(parts))


def _gathered(op: HloNodes, hlo: HloOp, x: HloTensor, indices: HloTensor, sizes: Sequence[Size]) -> HloTensor:
    attrs = hlo.attrs
    axes = SliceAxes(
        indexed=integers(attrs["start_index_map"]),
        vector=int(attrs["index_vector_dim"]),
        dropped=integers(attrs["collapsed_slice_dims"]),
        batching=integers(attrs.get("operand_batching_dims", [])),
        indices_batching=integers(attrs.get("start_indices_batching_dims", [])),
    )
    dims = op.dims_of(x)
    positions = SlicePositions(op, dims, indices, axes)
    positions.clamped(sizes)
    out = hlo.types[0].shape
    offsets = integers(attrs["offset_dims"])
    window = positions.window
    if not positions.batch:
        return _one_slice(op, x, positions, sizes, out)
    if len(offsets) != len(window):
        raise refuse("stablehlo.gather has offset_dims that do not match its slices")
    rows = positions.rows(sizes)
    count = op.count(dims[:rows])
    flat = op.reshaped(x.value, [count, *dims[rows:]]) if rows != 1 else x.value
    made = op.GatherV2(flat, positions.numbers(sizes, rows), 0)
    # the axes are now those of the indices, then those of the slices
    batch = [axis for axis in range(len(out)) if axis not in offsets]
    order = [*batch, *offsets]
    return op.tensor(op.transposed(made, [order.index(axis) for axis in range(len(out))]), out)


def _one_slice(
    op: HloNodes, x: HloTensor, positions: SlicePositions, sizes: Sequence[Size], out: tuple[int | None, ...]
) -> HloTensor:
    """A single slice; the axes that it drops have size 1."""
    starts: list[Size] = [positions.starts.get(axis, 0) for axis in range(x.rank)]
    made = op.Slice(x.value, op.sizes.vector(starts), op.sizes.vector(sizes)) if x.rank else x.value
    dropped = [axis for axis in range(x.rank) if axis not in positions.window]
    return op.tensor(op.Squeeze(made, squeeze_dims=dropped) if dropped else made, out)
