"""What is known of integers that ONNX nodes compute: elements of small vectors, and that none is negative.

Elements are propagated through the nodes that compute shapes, so a reshape to `(batch, 49, 64)` has two known
sizes, though the batch is unknown.

Sizes, indices of elements, and what is taken or computed from them are never negative. In ONNX a negative
index counts from the end, and a negative size is taken as something else; in TensorFlow both are errors. A
lowering need not look for them where there are none. In int32, that is so for tensors of fewer than 2**31
elements along an axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tfport.graph.dtypes import DType
from tfport.runtime.onnx.shape_rule import Attrs, Inputs, required
from tfport.runtime.operand import Dims, Operand

_ARITHMETIC: dict[str, Callable[[int, int], int | None]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Max": max,
    "Min": min,
    "Div": lambda a, b: int(a / b) if b and abs(a) < 2**52 else None,
    "Mod": lambda a, b: a % b if b else None,
}


_REDUCTIONS: dict[str, Callable[[Sequence[int]], int]] = {
    "ReduceProd": math.prod,
    "ReduceSum": sum,
    "ReduceMax": max,
    "ReduceMin": min,
}
_INDICES = frozenset(["Shape", "Size", "NonZero", "NonMaxSuppression", "ArgMax", "ArgMin"])
_FIRST = frozenset(
    ("Cast", "Expand", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
)
"""Ops whose output has only elements of the first input."""
_ALL = frozenset(["Concat", "Min"])


def known_of(op: str, inputs: Inputs, attrs: Attrs) -> Dims | None:
    """The known elements of a node's output, if it is a small vector or scalar of integers."""
    first = inputs[0] if inputs else None
    if first is None:
        return None
    if op == "Shape":
        return first.shape[attrs.get("start", 0) : attrs.get("end")] if first.shape is not None else None
    if op in ("Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape") and first.dtype.is_integer:
        return first.known if first.rank is not None and first.rank < 2 else None
    if op == "Concat":
        parts = [_elements(operand) for operand in inputs if operand is not None]
        ranks = {operand.rank for operand in inputs if operand is not None}
        if ranks == {1} and None not in parts and attrs["axis"] in (0, -1):
            return tuple(n for part in parts if part is not None for n in part)
    if op in _ARITHMETIC and not attrs.get("fmod") and len(inputs) == 2 and first.dtype.is_integer:
        return _arithmetic(op, first, required(inputs[1]))
    if op == "Gather" and first.rank == 1 and first.known is not None:
        indices = inputs[1].known if inputs[1] is not None else None
        if indices is not None and all(
            i is not None and -len(first.known) <= i < len(first.known) for i in indices
        ):
            return tuple(first.known[i] for i in indices if i is not None)
    if op == "Slice" and first.rank == 1 and first.known is not None:
        return _slice_known(first.known, inputs)
    if op in _REDUCTIONS and first.rank == 1 and first.known and None not in first.known:
        return (_REDUCTIONS[op]([n for n in first.known if n is not None]),)
    return None


def _elements(vector: Operand) -> Dims | None:
    """The elements of a vector of known size; None if the size is unknown."""
    if vector.known is None and vector.rank == 1 and vector.shape is not None and vector.shape[0] is not None:
        return (None,) * vector.shape[0]
    return vector.known


def _arithmetic(op: str, x: Operand, y: Operand) -> Dims | None:
    if x.known is None or y.known is None or (x.rank or 0) > 1 or (y.rank or 0) > 1:
        return None
    n = max(len(x.known), len(y.known))
    if not n or not {len(x.known), len(y.known)} <= {1, n}:
        return None
    pairs = zip(x.known * (n // len(x.known)), y.known * (n // len(y.known)), strict=True)
    return tuple(None if a is None or b is None else _ARITHMETIC[op](a, b) for a, b in pairs)


def _slice_known(known: Dims, inputs: Inputs) -> Dims | None:
    bounds = [operand.known for operand in inputs[1:] if operand is not None]
    if any(bound is None or len(bound) != 1 or bound[0] is None for bound in bounds):
        return None
    start, end, *rest = (bound[0] or 0 for bound in bounds if bound is not None)
    step = rest[1] if len(rest) > 1 else 1
    return known[start : end if end > -(2**62) else None : step]


def index_mask(dtype: DType) -> int:
    """All bits but the second one: the bitwise AND of a negative index with it is out of range in ONNX too.

    It leaves the smallest integer unchanged, which is what NaN is cast to. It changes indices of at least
    2**30 (int32) or 2**62 (int64), but no axis is that long.
    """
    return ~(1 << (8 * dtype.numpy.itemsize - 2))


def is_never_negative(operand: Operand) -> bool:
    """Whether all elements are 0 or more; of constants, only of small ones."""
    if operand.never_negative:
        return True
    known = operand.known
    return known is not None and all(n is not None and n >= 0 for n in known)


def gives_no_negative(op: str, inputs: Inputs) -> bool:
    """Whether a node with one output never returns a negative integer."""
    if op in _INDICES:
        return True
    if op in _FIRST:
        first = inputs[0]
        return first is not None and first.dtype.is_integer and is_never_negative(first)
    if op in _ALL:
        return all(operand is not None and is_never_negative(operand) for operand in inputs)
    return op == "Max" and any(operand is not None and is_never_negative(operand) for operand in inputs)
