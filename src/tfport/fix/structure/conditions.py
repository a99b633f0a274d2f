"""What a branch or a loop takes for its condition, as the scalar bool that TF1's Switch asks for.

A number is true unless it is 0, a text unless it is empty; what is no scalar, if it has
elements. What is known to be a scalar bool stays as it is.
"""

from __future__ import annotations

from tfport.fix.structure.function_bodies import ENTERS, MERGES, SWITCHES, Site
from tfport.graph.dtypes import BOOL, INT32, STRING
from tfport.graph.graph import Node, Value

_ELEMENTWISE = frozenset(
    ["Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr",
     "LogicalNot", "Identity", "StopGradient", "Add", "AddV2", "Sub", "Mul", "Minimum", "Maximum", "Cast",
     "FloorMod", "FloorDiv", "Neg", "Abs", "IsNan", "IsInf", "IsFinite", "Exit", "NextIteration"]
)  # fmt: skip
_SCALARS = frozenset(["Size", "Rank", "TensorListLength", "TensorArraySizeV3", "LoopCond"])
_MOST = 200
"""Nodes that are looked at to find out whether a condition is a scalar."""


def truth(site: Site, value: Value, pivot: Node | None) -> Value:
    """A scalar bool that says whether a value is true; constants hang on the pivot, or on the value."""
    near = pivot or value.node
    scalar = is_scalar(value)
    if value.dtype.base == BOOL and scalar:
        return value
    if value.dtype.base == BOOL:
        told = value
    else:
        blank = site.constant(b"" if value.dtype.base == STRING else 0, value.dtype.base, near, "blank")
        told = site.add("NotEqual", [value, blank], {"T": value.dtype.base}, name="is_set").output(0)
    return told if scalar else _of_any_rank(site, value, told, near)


def _of_any_rank(site: Site, value: Value, told: Value, near: Node) -> Value:
    """`size > 0 and (rank > 0 or any element is set)`."""
    kind = {"T": value.dtype.base}
    zero, one = (site.constant(n, INT32, near) for n in (0, 1))
    rank = site.add("Rank", [value], kind, name="rank").output(0)
    size = site.add("Size", [value], {**kind, "out_type": INT32}, name="size").output(0)
    axes = site.add("Range", [zero, rank, one], {"Tidx": INT32}, name="axes").output(0)
    some = site.add("Any", [told, axes], {"keep_dims": False, "Tidx": INT32}, name="any").output(0)
    ranked = site.add("Greater", [rank, zero], {"T": INT32}, name="has_rank").output(0)
    filled = site.add("Greater", [size, zero], {"T": INT32}, name="has_elements").output(0)
    either = site.add("LogicalOr", [ranked, some], name="ranked_or_set").output(0)
    return site.add("LogicalAnd", [filled, either], name="truth").output(0)


def is_scalar(value: Value) -> bool:
    """Whether a value is a scalar for sure."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        rank, op = one.shape.rank, one.node.op
        if rank == 0 or op in _SCALARS:
            continue
        if rank is not None or len(seen) > _MOST:
            return False
        if op in _ELEMENTWISE or op in SWITCHES:
            stack += one.node.inputs[:1] if op in SWITCHES else one.node.inputs
        elif op in ENTERS or (op in MERGES and one.index == 0 and "_output_shapes" not in one.node.attrs):
            stack += one.node.inputs
        elif not (op in MERGES and one.index == 1):
            return False
    return True
