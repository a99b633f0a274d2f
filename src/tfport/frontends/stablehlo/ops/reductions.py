"""Reductions: by an op of TensorFlow if their region is known, else by halving the tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloBody, HloOp
from tfport.frontends.stablehlo.constants import ELEMENTWISE, integers
from tfport.frontends.stablehlo.nodes import MOST_CALLS, HloNodes, translates
from tfport.frontends.stablehlo.ops import xla
from tfport.frontends.stablehlo.ops.elementwise import is_nan, may_be_nan
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.building.arrays import reshape, transpose
from tfport.graph.dtypes import BOOL, INT32

Combine = Callable[[Sequence[HloTensor], Sequence[HloTensor]], list[HloTensor]]
"""Combines two lists of tensors element by element."""
REDUCERS = {
    "add": "Sum", "multiply": "Prod", "maximum": "Max", "minimum": "Min", "and": "All", "or": "Any",
}  # fmt: skip
ASSIGNMENT = "second"
"""The computation that returns the second of its two arguments."""
MOST_IN_A_ROW = 16
"""More elements are combined by halves."""
OF_BOOLS = {"add": "Any", "multiply": "All", "maximum": "Any", "minimum": "All", "and": "All", "or": "Any"}


@translates("reduce")
def reduce(op: HloNodes, hlo: HloOp, *operands: HloTensor, env: dict[int, Any]) -> list[HloTensor]:
    """Half of the operands are the values to begin with."""
    half = len(operands) // 2
    inputs, starts = operands[:half], operands[half:]
    axes = integers(hlo.attrs["dimensions"])
    dims = hlo.types[0].shape
    combine = combination(op, hlo.regions[0], env)
    if any(inputs[0].dims[axis] == 0 for axis in axes):
        return [_filled(op, start, dims, inputs[0], axes) for start in starts]
    if not axes:
        return combine(starts, inputs)
    name = known_computation(hlo.regions[0]) if half == 1 else ""
    if (reducer := _reducer(name, inputs[0])) is not None:
        reduced = [_reduced(op, reducer, inputs[0], axes, dims)]
        if is_neutral(name, starts[0]):
            return reduced
    elif op.program.own_runtime and None in (inputs[0].dims[axis] for axis in axes):
        return xla.reduced(op, hlo, operands, env)
    else:
        rows, count = _rows(op, inputs, axes)
        if count <= MOST_IN_A_ROW:
            return _in_a_row(op, starts, rows, count, combine)
        reduced = _halved(op, rows, count, combine)
    return combine(starts, reduced)


def known_computation(body: HloBody) -> str:
    """The name of a region of two arguments and at most one op, if it is a known computation."""
    if not body.ops:
        return ASSIGNMENT if len(body.args) == 2 and body.returns == body.args[1:] else ""
    hlo = body.ops[0]
    if len(body.ops) > 1 or len(body.args) != 2 or body.returns != hlo.results or hlo.operands != body.args:
        return ""
    if hlo.name in ("and", "or") and hlo.types[0].element != np.bool_:
        return f"bitwise_{hlo.name}"
    return hlo.name if hlo.name in REDUCERS else ""


def _reducer(name: str, x: HloTensor) -> str | None:
    return (OF_BOOLS if x.dtype == BOOL else REDUCERS).get(name)


def _reduced(op: HloNodes, reducer: str, x: HloTensor, axes: list[int], dims: Any) -> HloTensor:
    """NaN of any element is the maximum and the minimum; TensorFlow's kernels differ about it."""
    indices = op.const(axes, INT32)
    reduced = op.tensor(op.node(reducer, x.value, indices, keep_dims=False), dims)
    if reducer not in ("Max", "Min") or not may_be_nan(x):
        return reduced
    has_nan = op.tensor(op.Any(is_nan(op, x).value, indices, keep_dims=False), dims)
    return op.each("SelectV2", has_nan, op.known(np.array(np.nan, x.dtype.numpy)), reduced)


def is_neutral(name: str, start: HloTensor) -> bool:
    """Whether beginning with a value changes nothing."""
    value = start.scalar
    if value is None:
        return False
    if start.dtype == BOOL:
        return bool(value) == (name in ("and", "multiply", "minimum"))
    if name in ("add", "multiply"):
        return bool(value == (name == "multiply"))
    if name not in ("maximum", "minimum"):
        return False
    if start.dtype.is_floating:
        return bool(np.float64(value) == (-np.inf if name == "maximum" else np.inf))
    limits = np.iinfo(start.dtype.numpy)
    return bool(value == (limits.min if name == "maximum" else limits.max))


def combination(op: HloNodes, body: HloBody, env: dict[int, Any]) -> Combine:
    """A region of scalars as a function of tensors."""

    def combine(left: Sequence[HloTensor], right: Sequence[HloTensor]) -> list[HloTensor]:
        return apply(op, body, [*left, *right], env)

    return combine


BY_ELEMENT = frozenset([*ELEMENTWISE, "bitcast_convert", "compare", "constant", "convert"])


def apply(op: HloNodes, body: HloBody, args: Sequence[HloTensor], env: dict[int, Any]) -> list[HloTensor]:
    """Apply a region of scalars to each element of tensors."""
    if other := next(_not_by_element(op, body), None):
        raise CannotRun(f"a region contains stablehlo.{other}, which is not element-wise")
    return op.program.body(op, body, args, env)


def _not_by_element(op: HloNodes, body: HloBody, depth: int = 0) -> Iterator[str]:
    for hlo in body.ops:
        callee = op.program.functions.get(str(hlo.attrs["callee"])) if hlo.name == "call" else None
        if callee is not None and depth < MOST_CALLS:
            yield from _not_by_element(op, callee, depth + 1)
        elif hlo.name not in BY_ELEMENT:
            yield hlo.name


def _rows(op: HloNodes, inputs: Sequence[HloTensor], axes: list[int]) -> tuple[list[HloTensor], int]:
    """Tensors with the reduced axes as their first axis, and its size."""
    count = math.prod(_size(inputs[0], axis) for axis in axes)
    kept = [axis for axis in range(inputs[0].rank) if axis not in axes]
    dims = tuple(inputs[0].dims[axis] for axis in kept)
    sizes = [op.dims_of(inputs[0])[axis] for axis in kept]
    rows = []
    for x in inputs:
        moved = reshape(op, transpose(op, x, [*axes, *kept]), [count, *sizes])
        rows.append(op.tensor(moved.value, (count, *dims)))
    return rows, count


def _in_a_row(
    op: HloNodes, starts: Sequence[HloTensor], rows: list[HloTensor], count: int, combine: Combine
) -> list[HloTensor]:
    """Combine one element after the other, as XLA does."""
    parts = [op.Unpack(x.value, num=count, axis=0).outputs for x in rows]
    results = list(starts)
    for index in range(count):
        results = combine(
            results, [op.tensor(part[index], x.dims[1:]) for part, x in zip(parts, rows, strict=True)]
        )
    return results


def _halved(op: HloNodes, rows: list[HloTensor], count: int, combine: Combine) -> list[HloTensor]:
    """Combine the two halves, until one element is left."""
    dims = rows[0].dims[1:]
    while count > 1:
        half = count // 2
        left, right = ([_part(op, x, start, half) for x in rows] for start in (0, half))
        merged = combine(left, right)
        if count % 2:
            rest = [_part(op, x, 2 * half, 1) for x in rows]
            merged = [
                op.tensor(op.ConcatV2([a.value, b.value], 0), (half + 1, *dims))
                for a, b in zip(merged, rest, strict=True)
            ]
        rows, count = merged, half + count % 2
    return [op.tensor(op.Squeeze(x.value, squeeze_dims=[0]), dims) for x in rows]


def _size(x: HloTensor, axis: int) -> int:
    size = x.dims[axis]
    if size is None:
        raise CannotRun(
            "stablehlo.reduce by a region other than a sum, product or maximum, over an axis of unknown size"
        )
    return size


def _part(op: HloNodes, x: HloTensor, start: int, count: int) -> HloTensor:
    rest = [0] * (x.rank - 1)
    node = op.Slice(x.value, op.const([start, *rest], INT32), op.const([count, *(-1 for _ in rest)], INT32))
    return op.tensor(node, (count, *x.dims[1:]))


def _filled(op: HloNodes, start: HloTensor, dims: Any, x: HloTensor, axes: list[int]) -> HloTensor:
    sizes = [size for axis, size in enumerate(op.dims_of(x)) if axis not in axes]
    return op.tensor(op.Fill(op.sizes.vector(sizes) if sizes else op.const([], INT32), start.value), dims)


@translates("map")
def map_(op: HloNodes, hlo: HloOp, *operands: HloTensor, env: dict[int, Any]) -> list[HloTensor]:
    return apply(op, hlo.regions[0], operands, env)
