"""Ops of StableHLO written with the builtin ops that compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT, ROUNDING
from tfport.formats.lite.records import LiteOperator
from tfport.graph.building.node_builder import Refusal

BUILTINS = {
    "ABS": "ABS", "ADD": "ADD", "COSINE": "COS", "DIVIDE": "DIV", "EXPONENTIAL": "EXP", "FLOOR": "FLOOR",
    "LOG": "LOG", "LOGISTIC": "LOGISTIC", "MAXIMUM": "MAXIMUM", "MINIMUM": "MINIMUM", "MULTIPLY": "MUL",
    "NEGATE": "NEG", "POWER": "POW", "RSQRT": "RSQRT", "SELECT": "SELECT", "SUBTRACT": "SUB", "TANH": "TANH",
}  # fmt: skip
FLOAT = "FLOAT32"
TYPES = (FLOAT, "INT32", "INT64", "BOOL")
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
        e.require(n.outputs[0], FLOAT)  # integers are rounded toward zero
    if op in ("ADD", "MULTIPLY"):
        e.require(n.outputs[0], FLOAT, "INT32", "INT64")
    e.op(BUILTINS[op], n.inputs, to=n.outputs[0])


@lite_rule("STABLEHLO_COMPARE", keeps=EXACT)
def comparison(e: SubgraphEditor, n: LiteOperator) -> None:
    """A builtin op compares numbers in the direction that STABLEHLO_COMPARE names."""
    e.require(n.inputs[0], FLOAT, "INT32", "INT64")
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
    e.require(n.inputs[0], "INT32", "INT64", "BOOL", FLOAT)
    if e.tensor(n.inputs[0]).type == FLOAT:
        e.require(n.outputs[0], FLOAT, "INT32", "INT64")
    e.op("CAST", n.inputs, to=n.outputs[0])


@lite_rule("STABLEHLO_SLICE", keeps=EXACT)
def slice_with_steps(e: SubgraphEditor, n: LiteOperator) -> None:
    """STRIDED_SLICE takes the elements between two indices, with steps."""
    names = ("start_indices", "limit_indices", "strides")
    bounds = [e.constant(e.option(n, name), "int32") for name in names]
    e.op("STRIDED_SLICE", (n.inputs[0], *bounds), to=n.outputs[0], begin_mask=0)


# Convolutions, products, reductions and windows.

REDUCERS = {"ADD": "SUM", "MAXIMUM": "REDUCE_MAX", "MINIMUM": "REDUCE_MIN", "MULTIPLY": "REDUCE_PROD"}
NEUTRAL = {"ADD": 0.0, "MAXIMUM": -np.inf, "MINIMUM": np.inf, "MULTIPLY": 1.0}


@lite_rule("STABLEHLO_DOT_GENERAL", keeps=ROUNDING)
def product_of_matrices(e: SubgraphEditor, n: LiteOperator) -> None:
    """Axes are moved and joined so that BATCH_MATMUL computes the product."""
    x, y = n.inputs
    e.require(x, FLOAT)
    left, right = e.static_shape(x), e.static_shape(y)
    batch, batch_y, over, over_y = (
        tuple(e.option(n, f"{side}_{kind}_dimensions") or ())
        for kind in ("batching", "contracting")
        for side in ("lhs", "rhs")
    )
    rows = [axis for axis in range(len(left)) if axis not in (*batch, *over)]
    columns = [axis for axis in range(len(right)) if axis not in (*batch_y, *over_y)]
    size = [left[axis] for axis in batch]
    inner = prod(left[axis] for axis in over)
    m, k = prod(left[axis] for axis in rows), prod(right[axis] for axis in columns)
    first = e.reshaped(_ordered(e, x, [*batch, *rows, *over]), [*size, m, inner])
    order = [*batch_y, *over_y, *columns]
    if e.is_constant(y):
        second = e.constant(np.transpose(e.array(y), order).reshape(*size, inner, k))
    else:
        second = e.reshaped(_ordered(e, y, order), [*size, inner, k])
    result = e.op("BATCH_MATMUL", (first, second), like=n.outputs[0], shape=[*size, m, k], adj_x=False)
    e.reshaped(result, e.static_shape(n.outputs[0]), to=n.outputs[0])


@lite_rule("STABLEHLO_CONVOLUTION", keeps=ROUNDING)
def convolution(e: SubgraphEditor, n: LiteOperator) -> None:
    """PAD and CONV_2D compute a convolution of images with constant weights."""
    x, weights = n.inputs
    e.require(x, FLOAT)
    kernel = e.array(weights)
    if kernel.ndim != 4:
        raise Refusal(f"it has {kernel.ndim - 2} spatial dimensions")
    if int(e.option(n, "batch_group_count") or 1) > 1 or any(e.option(n, "window_reversal") or ()):
        raise Refusal("it has groups of batches or reverses its window")
    if set(e.option(n, "lhs_dilation") or ()) - {1}:
        raise Refusal("its input is dilated")
    image = _axes(e, n, "input_{}_dimension", "batch", "feature")
    outcome = _axes(e, n, "output_{}_dimension", "batch", "feature")
    kernel_axes = _axes(e, n, "kernel_{}_feature_dimension", "output", "input")
    kernel = np.transpose(kernel, kernel_axes)
    x = _ordered(e, x, image)
    padding = tuple(e.option(n, "padding") or (0, 0, 0, 0))
    x = _padded(e, x, ((0, 0), padding[:2], padding[2:], (0, 0)), 0.0)
    strides = tuple(e.option(n, "window_strides") or (1, 1))
    dilations = tuple(e.option(n, "rhs_dilation") or (1, 1))
    options = {
        "padding": "VALID", "stride_h": strides[0], "stride_w": strides[1],
        "dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1],
    }  # fmt: skip
    inputs = (x, e.constant(kernel), e.constant(np.zeros(len(kernel))))
    shape = [e.static_shape(n.outputs[0])[axis] for axis in outcome]
    if list(outcome) == [0, 1, 2, 3]:
        e.op("CONV_2D", inputs, to=n.outputs[0], **options)
        return
    result = e.op("CONV_2D", inputs, like=n.outputs[0], shape=shape, **options)
    e.transposed(result, [outcome.index(axis) for axis in range(4)], to=n.outputs[0])


@lite_rule("STABLEHLO_REDUCE", keeps=ROUNDING)
def reduction(e: SubgraphEditor, n: LiteOperator) -> None:
    """SUM, REDUCE_MAX and their like reduce with the op of the body, from its neutral element."""
    e.require(n.inputs[0], FLOAT)
    op = _body(e, n)
    axes = e.constant(e.option(n, "dimensions"), "int32")
    e.op(REDUCERS[op], (n.inputs[0], axes), to=n.outputs[0], keep_dims=False)


@lite_rule("STABLEHLO_REDUCE_WINDOW", keeps=ROUNDING)
def pooling(e: SubgraphEditor, n: LiteOperator) -> None:
    """Padding and pooling reduce windows along one or two axes."""
    x, y = n.inputs[0], n.outputs[0]
    e.require(x, FLOAT)
    op = _body(e, n)
    sizes, strides = e.option(n, "window_dimensions"), e.option(n, "window_strides")
    for name in ("base_dilations", "window_dilations"):
        if set(e.option(n, name) or ()) - {1}:
            raise Refusal("it is dilated")
    active = [axis for axis, size in enumerate(sizes) if size != 1 or strides[axis] != 1]
    if len(sizes) != 4 or len(active) > 2 or op not in ("ADD", "MAXIMUM"):
        raise Refusal("its windows are not those of a pooling")
    rest = [axis for axis in range(4) if axis not in active]
    spatial = [*active, *rest[: 2 - len(active)]] if active != [1, 2] else [1, 2]
    outer = [axis for axis in range(4) if axis not in spatial]
    order = [outer[0], *spatial, outer[1]]
    padding = tuple(e.option(n, "padding") or (0,) * 8)
    pairs = [padding[2 * axis : 2 * axis + 2] for axis in order]
    lowest = float(np.finfo(np.float32).min)
    inner = _padded(e, _ordered(e, x, order), pairs, 0.0 if op == "ADD" else lowest)
    shape = [e.static_shape(y)[axis] for axis in order]
    height, width = (sizes[axis] for axis in spatial)
    options = {
        "padding": "VALID", "stride_h": strides[spatial[0]], "stride_w": strides[spatial[1]],
        "filter_height": height, "filter_width": width,
    }  # fmt: skip
    pooling_op = "AVERAGE_POOL_2D" if op == "ADD" else "MAX_POOL_2D"
    pooled = e.op(pooling_op, (inner,), like=y, shape=shape, **options)
    if op == "ADD":
        pooled = e.op("MUL", (pooled, e.constant(float(height * width))), like=y, shape=shape)
    e.transposed(pooled, [order.index(axis) for axis in range(4)], to=y)


def _body(e: SubgraphEditor, n: LiteOperator) -> str:
    """The op of the body, if it starts from its neutral element."""
    if len(n.outputs) != 1:
        raise Refusal("it has several results")
    nodes = e.file.subgraphs[e.option(n, "body_subgraph_index")].operators
    op = nodes[0].code.op.removeprefix("STABLEHLO_") if len(nodes) == 1 else ""
    op = "MULTIPLY" if op == "MUL" else op  # the body may have been rewritten
    if op not in REDUCERS:
        raise Refusal("its body is not a sum, product, maximum or minimum")
    if e.array(n.inputs[1]).reshape(-1).tolist() != [NEUTRAL[op]]:
        raise Refusal("it does not start from the neutral element of its body")
    return op


def _axes(e: SubgraphEditor, n: LiteOperator, names: str, first: str, last: str) -> Sequence[int]:
    """The axes in the order of the builtin op: batch or output, height, width, features."""
    kind = names.split("_")[0]
    spatial = tuple(e.option(n, f"{kind}_spatial_dimensions") or ())
    ends = [int(e.option(n, names.format(name)) or 0) for name in (first, last)]
    return [ends[0], *spatial, ends[1]]


def _ordered(e: SubgraphEditor, index: int, order: Sequence[int]) -> int:
    return index if list(order) == sorted(order) else e.transposed(index, order)


def _padded(e: SubgraphEditor, index: int, pairs: Sequence[Sequence[int]], value: float) -> int:
    """A tensor with values before and after along each axis; negative numbers are not supported."""
    if not any(number for pair in pairs for number in pair):
        return index
    if any(number < 0 for pair in pairs for number in pair):
        raise Refusal("its padding is negative")
    shape = [size + sum(pair) for size, pair in zip(e.static_shape(index), pairs, strict=True)]
    amounts = e.constant([list(pair) for pair in pairs], "int32")
    if value == 0:
        return e.op("PAD", (index, amounts), like=index, shape=shape)
    return e.op("PADV2", (index, amounts, e.constant(value)), like=index, shape=shape)
