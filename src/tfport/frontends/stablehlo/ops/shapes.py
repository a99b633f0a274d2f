"""Ops that rearrange whole tensors: reshape, broadcast, transpose, concatenate, reverse, iota."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.tensor import HloTensor, element_type
from tfport.graph.building import arrays
from tfport.graph.building.node_builder import Dims
from tfport.graph.building.sizes import Size
from tfport.graph.dtypes import INT32

MOST_COUNTED = 1 << 16
"""A longer sequence of numbers is computed by Range."""


@translates("constant")
def constant(op: HloNodes, hlo: HloOp) -> HloTensor:
    return op.known(hlo.attrs["value"])


@translates("reshape dynamic_reshape")
def reshape(op: HloNodes, hlo: HloOp, x: HloTensor, shape: HloTensor | None = None) -> HloTensor:
    dims = declared(hlo, shape)
    if x.scalar is not None and None not in dims:
        return op.filled(x.scalar, dims)
    if None not in dims or (dims.count(None) == 1 and 0 not in dims):
        sizes = op.const([-1 if size is None else size for size in dims], INT32)
    else:
        assert shape is not None
        sizes = op.whole_number(shape)
    return op.tensor(op.Reshape(x.value, sizes), dims)


def declared(hlo: HloOp, shape: HloTensor | None) -> Dims:
    """The shape of the result: what its type states, or the constant that it is reshaped to."""
    if shape is not None and shape.array is not None:
        return tuple(integers(shape.array))
    return hlo.types[0].shape


@translates("broadcast_in_dim dynamic_broadcast_in_dim")
def broadcast_in_dim(op: HloNodes, hlo: HloOp, x: HloTensor, shape: HloTensor | None = None) -> HloTensor:
    """The tensor gets axes of size 1, and is broadcast where it must be whole."""
    dims = declared(hlo, shape)
    axes = integers(hlo.attrs["broadcast_dimensions"])
    if x.scalar is not None and None not in dims:
        return op.filled(x.scalar, dims)
    asked = op.whole_number(shape) if shape is not None and None in dims else None
    if x.rank == 0:
        return HloTensor(op, dims, x.dtype, compact=x.value, shape=asked)
    order = sorted(range(len(axes)), key=axes.__getitem__)
    thin = arrays.transpose(op, x, order)
    if None not in dims and thin.dims == dims:
        return thin
    if len(dims) != x.rank:
        sizes: list[Size] = [1] * len(dims)
        for axis, size in zip(sorted(axes), op.dims_of(thin), strict=True):
            sizes[axis] = size
        thin = arrays.reshape(op, thin, sizes)
    return HloTensor(op, dims, x.dtype, compact=thin.value, shape=asked)


@translates("transpose")
def transpose(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    order = integers(hlo.attrs["permutation"])
    return arrays.transpose(op, x, order)


@translates("concatenate")
def concatenate(op: HloNodes, hlo: HloOp, *parts: HloTensor) -> HloTensor:
    if len(parts) == 1:
        return parts[0]
    node = op.ConcatV2([part.value for part in parts], int(hlo.attrs["dimension"]))
    return op.tensor(node, hlo.types[0].shape)


@translates("reverse")
def reverse(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    axes = integers(hlo.attrs["dimensions"])
    return op.tensor(op.ReverseV2(x.value, op.const(axes, INT32)), x.dims) if axes else x


@translates("iota dynamic_iota")
def iota(op: HloNodes, hlo: HloOp, shape: HloTensor | None = None) -> HloTensor:
    """Each element is its index along an axis."""
    dims, axis = declared(hlo, shape), int(hlo.attrs["iota_dimension"])
    element = hlo.types[0].element
    column = [-1 if index == axis else 1 for index in range(len(dims))]
    asked = op.whole_number(shape) if shape is not None and None in dims else None
    size = dims[axis]
    if size is not None and size <= MOST_COUNTED:
        counted = np.arange(size).astype(element).reshape(column)
        if len(dims) == 1:
            return op.known(counted)
        return HloTensor(op, dims, element_type(element), compact=op.const(counted), shape=asked)
    assert size is not None or asked is not None
    end: Any = (
        size if size is not None else op.StridedSlice(asked, [axis], [axis + 1], [1], shrink_axis_mask=1)
    )
    numbers = op.cast(op.tensor(op.Range(0, end, 1), (size,)), element_type(element)).value
    if len(dims) == 1:
        return op.tensor(numbers, dims)
    return HloTensor(
        op, dims, element_type(element), compact=op.Reshape(numbers, column).output(0), shape=asked
    )


@translates("get_dimension_size")
def get_dimension_size(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    axis = int(hlo.attrs["dimension"])
    if (known := x.dims[axis]) is not None:
        return op.known(np.array(known, np.int32))
    size = op.dims_of(x)[axis]
    assert not isinstance(size, int)
    return op.tensor(size, ())


@translates("optimization_barrier")
def optimization_barrier(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> list[HloTensor]:
    return list(operands)


@translates("tuple")
def tuple_(op: HloNodes, hlo: HloOp, *elements: Any) -> list[Any]:
    return [list(elements)]


@translates("get_tuple_element")
def get_tuple_element(op: HloNodes, hlo: HloOp, elements: list[Any]) -> list[Any]:
    return [elements[int(hlo.attrs["index"])]]


@translates("partition_id replica_id")
def on_one_device(op: HloNodes, hlo: HloOp) -> HloTensor:
    """The only device has number 0."""
    return op.known(np.zeros((), hlo.types[0].element))
