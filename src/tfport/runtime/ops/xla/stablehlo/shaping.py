"""StableHLO ops that move or contract elements and call no computation: `f(op, *arrays)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.xla import hlo
from tfport.runtime.ops.xla.kernels.random import PHILOX, THREE_FRY, random_bits
from tfport.runtime.ops.xla.stablehlo.elementwise import compare, convert

F = TypeVar("F", bound=Callable[..., Any])
SHAPING: dict[str, Callable[..., Any]] = {}


def shaping(names: str) -> Callable[[F], F]:
    def declare(function: F) -> F:
        SHAPING.update(dict.fromkeys(names.split(), function))
        return function

    return declare


def ints(value: Any) -> list[int]:
    """An attribute of integers; a splat is expanded."""
    return [int(n) for n in np.asarray(value).reshape(-1)]


def pairs(value: Any) -> list[list[int]]:
    return [[int(a), int(b)] for a, b in np.asarray(value).reshape(-1, 2)]


def sizes_of(op: HloOp) -> tuple[int, ...]:
    """The declared shape of a result."""
    shape = op.types[0].shape
    if None in shape:
        raise RunFailed(f"the result of {op.name} has an unknown shape")
    return tuple(n or 0 for n in shape)


@shaping("constant")
def constant(op: HloOp) -> Any:
    return op.attrs["value"]


@shaping("reshape")
def reshape(op: HloOp, x: Any) -> Any:
    return x.reshape(sizes_of(op))


@shaping("dynamic_reshape")
def dynamic_reshape(op: HloOp, x: Any, shape: Any) -> Any:
    return x.reshape(ints(shape))


@shaping("broadcast_in_dim")
def broadcast_in_dim(op: HloOp, x: Any) -> Any:
    return _broadcast(x, sizes_of(op), ints(op.attrs["broadcast_dimensions"]))


@shaping("dynamic_broadcast_in_dim")
def dynamic_broadcast_in_dim(op: HloOp, x: Any, shape: Any) -> Any:
    return _broadcast(x, tuple(ints(shape)), ints(op.attrs["broadcast_dimensions"]))


def _broadcast(x: Any, shape: tuple[int, ...], axes: list[int]) -> Any:
    spread = [1] * len(shape)
    for axis, size in zip(axes, x.shape, strict=True):
        spread[axis] = size
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return np.broadcast_to(x.transpose(order).reshape(spread), shape)


@shaping("transpose")
def transpose(op: HloOp, x: Any) -> Any:
    return x.transpose(ints(op.attrs["permutation"]))


@shaping("iota")
def iota(op: HloOp) -> Any:
    return _counted(sizes_of(op), op)


@shaping("dynamic_iota")
def dynamic_iota(op: HloOp, shape: Any) -> Any:
    return _counted(tuple(ints(shape)), op)


def _counted(shape: tuple[int, ...], op: HloOp) -> Any:
    axis = op.attrs["iota_dimension"]
    column = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(column.astype(op.types[0].element), shape)


@shaping("concatenate")
def concatenate(op: HloOp, *parts: Any) -> Any:
    return np.concatenate(parts, op.attrs["dimension"])


@shaping("slice")
def slice_(op: HloOp, x: Any) -> Any:
    bounds = (ints(op.attrs[name]) for name in ("start_indices", "limit_indices", "strides"))
    return x[tuple(slice(*span) for span in zip(*bounds, strict=True))]


@shaping("real_dynamic_slice")
def real_dynamic_slice(op: HloOp, x: Any, starts: Any, limits: Any, strides: Any) -> Any:
    return x[tuple(slice(*span) for span in zip(ints(starts), ints(limits), ints(strides), strict=True))]


@shaping("dynamic_slice")
def dynamic_slice(op: HloOp, x: Any, *starts: Any) -> Any:
    return hlo.dynamic_slice(x, [int(s) for s in starts], ints(op.attrs["slice_sizes"]))


@shaping("dynamic_update_slice")
def dynamic_update_slice(op: HloOp, x: Any, update: Any, *starts: Any) -> Any:
    return hlo.dynamic_update_slice(x, update, [int(s) for s in starts])


@shaping("pad")
def pad(op: HloOp, x: Any, fill: Any) -> Any:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return hlo.padded(x, fill, *(ints(op.attrs[name]) for name in names))


@shaping("dynamic_pad")
def dynamic_pad(op: HloOp, x: Any, fill: Any, low: Any, high: Any, interior: Any) -> Any:
    return hlo.padded(x, fill, ints(low), ints(high), ints(interior))


@shaping("reverse")
def reverse(op: HloOp, x: Any) -> Any:
    return np.flip(x, tuple(ints(op.attrs["dimensions"])))


@shaping("get_dimension_size")
def get_dimension_size(op: HloOp, x: Any) -> Any:
    return np.array(x.shape[op.attrs["dimension"]], np.int32)


@shaping("set_dimension_size")
def set_dimension_size(op: HloOp, x: Any, size: Any) -> Any:
    """Drop the elements beyond the size."""
    axis, count = op.attrs["dimension"], int(size)
    if not 0 <= count <= x.shape[axis]:
        raise RunFailed(f"size {count} of axis {axis} is out of range for shape {list(x.shape)}")
    return x[(slice(None),) * axis + (slice(count),)]


@shaping("convert")
def convert_(op: HloOp, x: Any) -> Any:
    return convert(x, op.types[0].element)


@shaping("bitcast_convert")
def bitcast_convert(op: HloOp, x: Any) -> Any:
    """If the widths differ, the narrower type has an extra axis."""
    kind = np.dtype(op.types[0].element)
    x = np.ascontiguousarray(x)
    if kind.itemsize == x.dtype.itemsize:
        return x.view(kind) if x.ndim else x.reshape(1).view(kind).reshape(())
    if kind.itemsize < x.dtype.itemsize:
        return x[..., None].view(kind)
    return x.view(kind)[..., 0]


@shaping("compare")
def compare_(op: HloOp, x: Any, y: Any) -> Any:
    return compare(x, y, op.attrs["comparison_direction"], op.attrs.get("compare_type", 0))


@shaping("reduce_precision")
def reduce_precision(op: HloOp, x: Any) -> Any:
    return hlo.reduced_precision(x, op.attrs["exponent_bits"], op.attrs["mantissa_bits"])


@shaping("dot_general")
def dot_general(op: HloOp, x: Any, y: Any) -> Any:
    names = ("lhs_contracting", "rhs_contracting", "lhs_batching", "rhs_batching")
    a, b, c, d = (ints(op.attrs[f"{name}_dimensions"]) for name in names)
    return hlo.dot_general(x, y, a, b, c, d, kind=np.dtype(op.types[0].element))


@shaping("dot")
def dot(op: HloOp, x: Any, y: Any) -> Any:
    return np.dot(widen(x), widen(y))


@shaping("convolution")
def convolution(op: HloOp, x: Any, kernel: Any) -> Any:
    def axes(side: str, first: str, second: str) -> list[int]:
        return [
            op.attrs[f"{side}_{first}_dimension"],
            op.attrs[f"{side}_{second}_dimension"],
            *ints(op.attrs[f"{side}_spatial_dimensions"]),
        ]

    return hlo.convolution(
        x,
        kernel,
        strides=ints(op.attrs["window_strides"]),
        padding=pairs(op.attrs["padding"]),
        lhs_dilation=ints(op.attrs["lhs_dilation"]),
        rhs_dilation=ints(op.attrs["rhs_dilation"]),
        input_axes=axes("input", "batch", "feature"),
        kernel_axes=axes("kernel", "output_feature", "input_feature"),
        output_axes=axes("output", "batch", "feature"),
        feature_groups=op.attrs["feature_group_count"],
        batch_groups=op.attrs["batch_group_count"],
        kind=np.dtype(op.types[0].element),
        reverse=[bool(r) for r in np.asarray(op.attrs["window_reversal"]).reshape(-1)],
    )


@shaping("gather")
def gather(op: HloOp, x: Any, indices: Any) -> Any:
    return _gathered(op, x, indices, ints(op.attrs["slice_sizes"]))


@shaping("dynamic_gather")
def dynamic_gather(op: HloOp, x: Any, indices: Any, sizes: Any) -> Any:
    return _gathered(op, x, indices, ints(sizes))


def _gathered(op: HloOp, x: Any, indices: Any, sizes: list[int]) -> Any:
    return hlo.gather(
        x,
        indices,
        offset_dims=ints(op.attrs["offset_dims"]),
        collapsed=ints(op.attrs["collapsed_slice_dims"]),
        start_index_map=ints(op.attrs["start_index_map"]),
        index_vector_dim=op.attrs["index_vector_dim"],
        slice_sizes=sizes,
        operand_batching=ints(op.attrs.get("operand_batching_dims", [])),
        indices_batching=ints(op.attrs.get("start_indices_batching_dims", [])),
    )


@shaping("rng_bit_generator")
def rng_bit_generator(op: HloOp, state: Any) -> Any:
    names = {0: THREE_FRY if state.size == 2 else PHILOX, 1: THREE_FRY, 2: PHILOX}
    shape = tuple(n or 0 for n in op.types[1].shape)
    return random_bits(names[op.attrs["rng_algorithm"]], state, shape, op.types[1].element)


@shaping("fft")
def fft(op: HloOp, x: Any) -> Any:
    length = ints(op.attrs["fft_length"])
    axes = tuple(range(-len(length), 0))
    way = (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)[op.attrs["fft_type"]]
    return way(x, length, axes)


@shaping("cholesky")
def cholesky(op: HloOp, x: Any) -> Any:
    lower = op.attrs["lower"]
    full = np.tril(x) if lower else np.swapaxes(np.triu(x), -1, -2).conj()
    factor = np.linalg.cholesky(full + np.swapaxes(np.tril(full, -1), -1, -2).conj())
    return factor if lower else np.swapaxes(factor, -1, -2).conj()


@shaping("triangular_solve")
def triangular_solve(op: HloOp, a: Any, b: Any) -> Any:
    """Solve after clearing the other triangle."""
    a = np.tril(a) if op.attrs["lower"] else np.triu(a)
    if op.attrs["unit_diagonal"]:
        n = a.shape[-1]
        a = a * (1 - np.eye(n, dtype=a.dtype)) + np.eye(n, dtype=a.dtype)
    way = op.attrs["transpose_a"]
    a = np.swapaxes(a, -1, -2) if way in (2, 3) else a
    a = a.conj() if way == 3 else a
    if op.attrs["left_side"]:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


@shaping("optimization_barrier")
def optimization_barrier(op: HloOp, *inputs: Any) -> Any:
    return inputs


@shaping("tuple")
def tuple_(op: HloOp, *elements: Any) -> Any:
    return [list(elements)]


@shaping("get_tuple_element")
def get_tuple_element(op: HloOp, elements: Any) -> Any:
    return elements[op.attrs["index"]]
