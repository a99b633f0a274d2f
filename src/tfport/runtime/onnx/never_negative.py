"""Which integers are never negative: sizes, places of elements, and what is taken or computed from them.

In ONNX a negative index counts from the end, and a negative size is taken as something else; in TensorFlow
both are errors. A lowering need not look for them where there are none. In int32, that is so for tensors of
fewer than 2**31 elements along an axis.
"""

from __future__ import annotations

from tfport.runtime.onnx.shape_rule import Inputs
from tfport.runtime.operand import Operand

_PLACES = frozenset(["Shape", "Size", "NonZero", "NonMaxSuppression", "ArgMax", "ArgMin"])
_FIRST = frozenset(
    ("Cast", "Expand", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
)
"""Ops whose output has only elements of the first input."""
_ALL = frozenset(["Concat", "Min"])


def is_never_negative(operand: Operand) -> bool:
    """Whether all elements are 0 or more; of constants, only of small ones."""
    if operand.never_negative:
        return True
    known = operand.known
    return known is not None and all(n is not None and n >= 0 for n in known)


def gives_no_negative(op: str, inputs: Inputs) -> bool:
    """Whether a node with one output never returns a negative integer."""
    if op in _PLACES:
        return True
    if op in _FIRST:
        first = inputs[0]
        return first is not None and first.dtype.is_integer and is_never_negative(first)
    if op in _ALL:
        return all(operand is not None and is_never_negative(operand) for operand in inputs)
    return op == "Max" and any(operand is not None and is_never_negative(operand) for operand in inputs)
