"""Operations on neighbors along an axis: differences, areas, grids of positions."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating
from tfport.frontends.keras.rearranging import broadcast
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, reduce, reshape, slice_axis, transpose
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import BOOL, INT32, DType


@layer("ops.Diff")
def diff(b: LayerBuilder, a: LayerTensor, *, n: int = 1, axis: int = -1) -> LayerTensor:
    """Each element minus the one before it, `n` times; of booleans, whether both differ."""
    for _ in range(n):
        after, before = slice_axis(b, a, axis, 1, None), slice_axis(b, a, axis, None, -1)
        a = b.NotEqual(after, before) if a.dtype == BOOL else b.Sub(after, before)
    return a


@layer("ops.Trapezoid")
def area(b: LayerBuilder, y: LayerTensor, *, x: Any = None, dx: float = 1.0, axis: int = -1) -> LayerTensor:
    """The area below the lines through the elements, at positions `x` or equally spaced."""
    y = as_floating(b, y)
    widths = b.constant(dx, y.dtype) if x is None else diff(b, b.constant(x, y.dtype))
    if widths.rank > 1:
        raise b.refuse("the places of its elements are not one list")
    axis = axis % y.rank
    y = transpose(b, y, [i for i in range(y.rank) if i != axis] + [axis])
    heights = b.Mul(b.Add(slice_axis(b, y, -1, 1, None), slice_axis(b, y, -1, None, -1)), 0.5)
    return reduce(b, "Sum", b.Mul(heights, widths), [-1])


@layer("ops.Meshgrid")
def mesh_grid(b: LayerBuilder, *x: LayerTensor, indexing: str = "xy") -> list[LayerTensor]:
    """The coordinates of all points of a grid; `xy` has the second coordinate along the first axis."""
    vectors = [reshape(b, vector, (None,)) for vector in x]
    indices = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        indices[:2] = 1, 0
    dims = [sizes(b, vectors[index])[0] for index in indices]
    known = [vectors[index].shape[0] for index in indices]
    grids = []
    for number, vector in enumerate(vectors):
        for axis in range(len(vectors)):
            vector = vector if axis == indices.index(number) else expand_dims(b, vector, axis)
        grids.append(b.tensor(broadcast(b, vector, dims).value, known))
    return grids


@layer("ops.Size")
def size(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Size(x, out_type=INT32)


@layer("ops.Ndim")
def rank(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.constant(x.rank)


@layer("ops.EmptyLike")
def empty_like(b: LayerBuilder, x: LayerTensor, *, dtype: str | None = None) -> LayerTensor:
    return b.cast(b.ZerosLike(x), DType.parse(dtype)) if dtype else b.ZerosLike(x)
