"""Sizes, indices and axes while lowering: constants where they are known, ONNX nodes where they are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.graph.dtypes import BOOL
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.known_values import index_mask, is_never_negative
from tfport.runtime.operand import Operand

LAST, FIRST = 2**63 - 1, -(2**63)
"""Slice bounds that mean the end of an axis, forwards and backwards."""
Size = int | Operand
"""A known size, or an int64 vector that holds it (or several)."""


def whole(operand: Operand) -> tuple[int, ...] | None:
    """The elements of a small integer vector or scalar, or None if one is unknown."""
    known = operand.known
    if known is None or any(n is None for n in known):
        return None
    return tuple(n for n in known if n is not None)


def numbers_of(operand: Operand, what: str) -> tuple[int, ...]:
    """Integers that a lowering must know; raises CannotLower."""
    numbers = whole(operand)
    if numbers is None:
        raise CannotLower(f"{what} is not constant")
    return numbers


def axis_of(operand: Operand, rank: int, what: str = "the axis") -> int:
    """One axis, counted from the front."""
    axis = numbers_of(operand, what)
    return axis_in(axis[0], rank)


def axis_in(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise CannotLower(f"axis {axis} is out of range")
    return axis % rank


def settled(b: Builder, x: Operand) -> Operand:
    """Replace a small integer vector or scalar by a constant if all of it is known."""
    numbers = whole(x)
    if numbers is None or x.array is not None or not x.dtype.is_integer or x.rank not in (0, 1):
        return x
    if x.shape not in ((), (None,), (len(numbers),)) or (x.rank == 0 and len(numbers) != 1):
        return x  # the run reports a shape that does not fit
    b.added.clear()
    return b.const(np.array(numbers, x.dtype.numpy).reshape(() if x.rank == 0 else -1), x.dtype)


def size_of(b: Builder, x: Operand, axis: int) -> Size:
    """The size of an axis."""
    size = x.shape[axis] if x.shape is not None else None
    return size if size is not None else b.Shape(x, start=axis, end=axis + 1)


def sizes_of(b: Builder, x: Operand, first: int = 0, end: int | None = None) -> list[Size]:
    """The sizes of consecutive axes."""
    assert x.shape is not None
    stop = len(x.shape) if end is None else end
    return [size_of(b, x, axis) for axis in range(first, stop)]


def vector(b: Builder, sizes: Sequence[Size]) -> Operand:
    """Sizes as one int64 vector."""
    if all(isinstance(size, int) for size in sizes):
        return b.ints(*(size for size in sizes if isinstance(size, int)))
    parts = [b.ints(size) if isinstance(size, int) else size for size in sizes]
    return parts[0] if len(parts) == 1 else b.Concat(*parts, axis=0)


def times(b: Builder, x: Size, y: Size) -> Size:
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    if 1 in (x, y):
        return y if x == 1 else x
    return b.Mul(*(b.ints(size) if isinstance(size, int) else size for size in (x, y)))


def over(b: Builder, x: Size, y: int) -> Size:
    """The quotient, rounded down."""
    if y == 1:
        return x
    return x // y if isinstance(x, int) else b.Div(x, b.ints(y))


def reshaped(b: Builder, x: Operand, sizes: Sequence[Size]) -> Operand:
    """Reshape to these sizes; a zero is a size of zero."""
    return b.Reshape(x, vector(b, sizes), allowzero=1)


def checked(b: Builder, x: Operand, axis: int, size: int) -> Operand:
    """Require that an axis has a size: a reshape that keeps all other axes fails otherwise."""
    rank = x.rank or 0
    if x.shape is not None and x.shape[axis] == size:
        return x
    if size == 0:  # in such a reshape, zero means keep
        raise CannotLower("an empty axis cannot be checked")
    return b.Reshape(x, b.ints(*(size if i == axis else 0 for i in range(rank))))


def cut(b: Builder, x: Operand, spans: dict[int, tuple[int, int, int]]) -> Operand:
    """Slice along axes: start, end and step of each."""
    if not spans:
        return x
    starts, ends, steps = zip(*spans.values(), strict=True)
    return b.Slice(x, b.ints(*starts), b.ints(*ends), b.ints(*spans), b.ints(*steps))


def never_negative(b: Builder, indices: Operand) -> Operand:
    """Indices of which a negative one is out of range.

    A negative index counts from the end in ONNX and is an error in TensorFlow; see `index_mask`.
    """
    wide = indices if indices.dtype.name in ("int32", "int64") else b.int64(indices)
    if wide.array is not None:
        if np.any(wide.array < 0):
            raise CannotLower("an index is negative")
        return wide
    if is_never_negative(wide):
        return wide
    return b.BitwiseAnd(wide, b.const(index_mask(wide.dtype), wide.dtype))


def select(b: Builder, condition: Operand, x: Operand, y: Operand) -> Operand:
    """Where, for bools too."""
    if x.dtype == BOOL:
        return b.Or(b.And(condition, x), b.And(b.Not(condition), y))
    return b.Where(condition, x, y)


def filled(b: Builder, like: Operand, sizes: Sequence[Size], value: float) -> Operand:
    """A tensor filled with a value, of the type of another."""
    return b.Expand(b.const(value, like.dtype), vector(b, sizes))
