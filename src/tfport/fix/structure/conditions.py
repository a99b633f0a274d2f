"""Convert the condition of a branch or loop to the scalar bool that TF1's Switch requires.

A number is true unless it is 0, a string unless it is empty, and any other tensor if it has
elements. A value that is known to be a scalar bool stays as it is.
"""

from __future__ import annotations

from tfport.fix.nodes.control_ops import ENTERS, MERGES, SWITCHES
from tfport.fix.structure.function_bodies import Site
from tfport.graph.dtypes import BOOL, INT32, STRING
from tfport.graph.graph import Node, Value

_ELEMENTWISE = frozenset(
    ["Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr",
     "LogicalNot", "Identity", "StopGradient", "Add", "AddV2", "Sub", "Mul", "Minimum", "Maximum", "Cast",
     "FloorMod", "FloorDiv", "Neg", "Abs", "IsNan", "IsInf", "IsFinite", "Exit", "NextIteration"]
)  # fmt: skip
_SCALARS = frozenset(["Size", "Rank", "TensorListLength", "TensorArraySizeV3", "LoopCond"])
_MOST = 200
"""The most nodes to visit to find out whether a condition is a scalar."""


def as_condition(site: Site, value: Value, pivot: Node | None) -> Value:
    """A scalar bool for the truth of a value; constants wait for the pivot, or for the value."""
    near = pivot or value.node
    scalar = is_scalar(value)
    if value.dtype.base == BOOL and scalar:
        return value
    if value.dtype.base == BOOL:
        is_set = value
    else:
        blank = site.constant(b"" if value.dtype.base == STRING else 0, value.dtype.base, near, "blank")
        is_set = site.add("NotEqual", [value, blank], {"T": value.dtype.base}, name="is_set").output(0)
    return is_set if scalar else _of_any_rank(site, value, is_set, near)


def _of_any_rank(site: Site, value: Value, is_set: Value, near: Node) -> Value:
    """`size > 0 and (rank > 0 or any element is set)`."""
    kind = {"T": value.dtype.base}
    zero, step = (site.constant(n, INT32, near) for n in (0, 1))
    rank = site.add("Rank", [value], kind, name="rank").output(0)
    size = site.add("Size", [value], {**kind, "out_type": INT32}, name="size").output(0)
    axes = site.add("Range", [zero, rank, step], {"Tidx": INT32}, name="axes").output(0)
    some = site.add("Any", [is_set, axes], {"keep_dims": False, "Tidx": INT32}, name="any").output(0)
    ranked = site.add("Greater", [rank, zero], {"T": INT32}, name="has_rank").output(0)
    filled = site.add("Greater", [size, zero], {"T": INT32}, name="has_elements").output(0)
    either = site.add("LogicalOr", [ranked, some], name="ranked_or_set").output(0)
    return site.add("LogicalAnd", [filled, either], name="truth").output(0)


def is_scalar(value: Value) -> bool:
    """Whether a value is known to be a scalar."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        source = stack.pop()
        if source in seen:
            continue
        seen.add(source)
        rank, op = source.shape.rank, source.node.op
        if rank == 0 or op in _SCALARS:
            continue
        if rank is not None or len(seen) > _MOST:
            return False
        if op in _ELEMENTWISE or op in SWITCHES:
            stack += source.node.inputs[:1] if op in SWITCHES else source.node.inputs
        elif op in ENTERS or (
            op in MERGES and source.index == 0 and "_output_shapes" not in source.node.attrs
        ):
            stack += source.node.inputs
        elif not (op in MERGES and source.index == 1):
            return False
    return True
