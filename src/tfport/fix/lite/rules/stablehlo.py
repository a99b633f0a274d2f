"""Ops of StableHLO that a builtin op computes in the same way."""

from __future__ import annotations

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT, Refusal
from tfport.formats.lite.records import LiteOperator

BUILTINS = {
    "ABS": "ABS", "ADD": "ADD", "COSINE": "COS", "DIVIDE": "DIV", "EXPONENTIAL": "EXP", "FLOOR": "FLOOR",
    "LOG": "LOG", "LOGISTIC": "LOGISTIC", "MAXIMUM": "MAXIMUM", "MINIMUM": "MINIMUM", "MULTIPLY": "MUL",
    "NEGATE": "NEG", "POWER": "POW", "RSQRT": "RSQRT", "SELECT": "SELECT", "SUBTRACT": "SUB", "TANH": "TANH",
}  # fmt: skip
TYPES = ("FLOAT32", "INT32", "INT64", "BOOL")
COMPARISONS = {
    "EQ": "EQUAL", "NE": "NOT_EQUAL", "GE": "GREATER_EQUAL", "GT": "GREATER", "LE": "LESS_EQUAL",
    "LT": "LESS",
}  # fmt: skip
PREFIX = "STABLEHLO_"


@lite_rule(" ".join(PREFIX + op for op in BUILTINS), keeps=EXACT)
def builtin_of_stablehlo(e: SubgraphEditor, n: LiteOperator) -> None:
    """A builtin op computes what the op of StableHLO does."""
    op = n.code.op.removeprefix(PREFIX)
    for index in (*n.inputs, *n.outputs):
        e.require(index, *TYPES)
    if op == "DIVIDE":
        e.require(n.outputs[0], "FLOAT32")  # integers are rounded toward zero
    if op in ("ADD", "MULTIPLY"):
        e.require(n.outputs[0], "FLOAT32", "INT32", "INT64")
    e.op(BUILTINS[op], n.inputs, to=n.outputs[0])


@lite_rule("STABLEHLO_COMPARE", keeps=EXACT)
def comparison(e: SubgraphEditor, n: LiteOperator) -> None:
    """A builtin op compares numbers in the direction that STABLEHLO_COMPARE names."""
    e.require(n.inputs[0], "FLOAT32", "INT32", "INT64")
    direction = str(e.option(n, "comparison_direction")).rpartition("_")[2]
    e.op(COMPARISONS[direction], n.inputs, to=n.outputs[0])


@lite_rule("STABLEHLO_RESHAPE", keeps=EXACT)
def reshape(e: SubgraphEditor, n: LiteOperator) -> None:
    """RESHAPE gives the elements another shape."""
    e.reshaped(n.inputs[0], e.static_shape(n.outputs[0]), to=n.outputs[0])


@lite_rule("STABLEHLO_TRANSPOSE", keeps=EXACT)
def transpose(e: SubgraphEditor, n: LiteOperator) -> None:
    """TRANSPOSE changes the order of the axes."""
    e.transposed(n.inputs[0], e.option(n, "permutation"), to=n.outputs[0])


@lite_rule("STABLEHLO_BROADCAST_IN_DIM", keeps=EXACT)
def broadcast_along_axes(e: SubgraphEditor, n: LiteOperator) -> None:
    """RESHAPE adds axes of size 1, and BROADCAST_TO repeats the elements along them."""
    x, y = n.inputs[0], n.outputs[0]
    sizes, shape = e.static_shape(x), e.static_shape(y)
    axes = tuple(e.option(n, "broadcast_dimensions") or ())
    if len(axes) != len(sizes):
        raise Refusal("its axes do not fit its input")
    wide = [sizes[axes.index(axis)] if axis in axes else 1 for axis in range(len(shape))]
    if sorted(axes) != list(axes):
        x = e.transposed(x, [axes.index(axis) for axis in sorted(axes)])
    if tuple(wide) == shape:
        e.reshaped(x, shape, to=y)
        return
    e.op("BROADCAST_TO", (e.reshaped(x, wide), e.constant(shape, "int32")), to=y)


@lite_rule("STABLEHLO_CONCATENATE", keeps=EXACT)
def concatenation(e: SubgraphEditor, n: LiteOperator) -> None:
    """CONCATENATION joins tensors along an axis."""
    e.op("CONCATENATION", n.inputs, to=n.outputs[0], axis=int(e.option(n, "dimension") or 0))


@lite_rule("STABLEHLO_CONVERT", keeps=EXACT)
def conversion(e: SubgraphEditor, n: LiteOperator) -> None:
    """CAST changes the type."""
    e.require(n.inputs[0], "INT32", "INT64", "BOOL", "FLOAT32")
    if e.tensor(n.inputs[0]).type == "FLOAT32":
        e.require(n.outputs[0], "FLOAT32", "INT32", "INT64")
    e.op("CAST", n.inputs, to=n.outputs[0])


@lite_rule("STABLEHLO_SLICE", keeps=EXACT)
def slice_with_steps(e: SubgraphEditor, n: LiteOperator) -> None:
    """STRIDED_SLICE takes the elements between two indices, with steps."""
    names = ("start_indices", "limit_indices", "strides")
    bounds = [e.constant(e.option(n, name), "int32") for name in names]
    e.op("STRIDED_SLICE", (n.inputs[0], *bounds), to=n.outputs[0], begin_mask=0)
