"""Other shapes of the same elements, and matrix products with other options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT, ROUNDING
from tfport.formats.lite.records import LiteOperator
from tfport.graph.building.node_builder import Refusal

FLOAT = "FLOAT32"


@lite_rule("EXPAND_DIMS SQUEEZE", keeps=EXACT)
def by_reshape(e: SubgraphEditor, n: LiteOperator) -> None:
    """RESHAPE adds or removes axes of size 1."""
    shape = e.static_shape(n.outputs[0])
    e.op("RESHAPE", (n.inputs[0], e.constant(shape, "int32")), to=n.outputs[0])


@lite_rule("BROADCAST_TO", keeps=EXACT)
def broadcast_by_mul(e: SubgraphEditor, n: LiteOperator) -> None:
    """MUL by ones of the larger shape repeats the elements."""
    e.require(n.inputs[0], FLOAT)
    shape = e.static_shape(n.outputs[0])
    if len(shape) > 4:
        raise Refusal(f"it has {len(shape)} dimensions")
    e.op("MUL", (n.inputs[0], e.constant(np.ones(shape))), to=n.outputs[0])


@lite_rule("SELECT_V2", keeps=EXACT)
def select_of_one_shape(e: SubgraphEditor, n: LiteOperator) -> None:
    """SELECT chooses between tensors of one shape; BROADCAST_TO repeats what is smaller."""
    condition, *choices = n.inputs
    shape = e.static_shape(n.outputs[0])
    if e.static_shape(condition) != shape:
        raise Refusal("its condition is smaller than its result")
    same = [
        index
        if e.static_shape(index) == shape
        else e.op("BROADCAST_TO", (index, e.constant(shape, "int32")), like=index, shape=shape)
        for index in choices
    ]
    e.op("SELECT", (condition, *same), to=n.outputs[0])


@lite_rule("DYNAMIC_UPDATE_SLICE", keeps=EXACT)
def update_by_select(e: SubgraphEditor, n: LiteOperator) -> None:
    """SELECT_V2 takes the update in the one row that it covers, and the old elements elsewhere."""
    x, update, start = n.inputs
    e.require(x, FLOAT, "INT32", "INT64", "INT8", "BOOL")
    e.require(start, "INT32")
    sizes, covered = e.tensor(x).dims, e.tensor(update).dims
    axes = [axis for axis, (size, part) in enumerate(zip(sizes, covered, strict=True)) if size != part]
    if not axes:  # it replaces everything
        e.op("SELECT_V2", (e.constant([True], "bool"), update, x), to=n.outputs[0])
        return
    if len(axes) != 1 or covered[axes[0]] != 1:
        raise Refusal("its update is not one row")
    if len(sizes) > 4:
        raise Refusal(f"it has {len(sizes)} dimensions")
    (axis,) = axes
    size = sizes[axis]
    first, single = e.constant([axis], "int32"), e.constant([1], "int32")
    if size is None:
        shape = e.op("SHAPE", (x,), like=start, shape=(len(sizes),), out_type="INT32")
        count = e.op("SLICE", (shape, first, single), like=start, shape=(1,))
        ends = e.constant(0, "int32"), e.reshaped(count, ()), e.constant(1, "int32")
        numbers = e.op("RANGE", ends, like=start, shape=(None,))
        last = e.op("SUB", (count, single), like=start, shape=(1,))
    else:
        numbers = e.constant(np.arange(size), "int32")
        last = e.constant([size - 1], "int32")
    row = e.op("SLICE", (start, first, single), like=start, shape=(1,))
    row = e.op("MAXIMUM", (row, e.constant([0], "int32")), like=start, shape=(1,))
    row = e.op("MINIMUM", (row, last), like=start, shape=(1,))
    along = [size if other == axis else 1 for other in range(len(sizes))]
    sized = e.constant([-1 if other == axis else 1 for other in range(len(sizes))], "int32")
    rows = e.op("RESHAPE", (numbers, sized), like=start, shape=along)
    is_row = e.op("EQUAL", (rows, row), like=start, shape=along, dtype="BOOL")
    e.op("SELECT_V2", (is_row, update, x), to=n.outputs[0])


@lite_rule("DENSIFY", keeps=EXACT)
def dense_constant(e: SubgraphEditor, n: LiteOperator) -> None:
    """A sparse constant is stored with its zeros."""
    stored = e.tensor(n.inputs[0])
    values = e.array(n.inputs[0])
    dense = e.constant(values, values.dtype.name, stored.quantization)
    e.reshaped(dense, values.shape, to=n.outputs[0])


@lite_rule("ADD_N", keeps=EXACT)
def add_one_by_one(e: SubgraphEditor, n: LiteOperator) -> None:
    """ADD sums two tensors at a time."""
    total = n.inputs[0]
    for index in n.inputs[1:-1]:
        total = e.op("ADD", (total, index), like=n.outputs[0])
    e.op("ADD", (total, n.inputs[-1]), to=n.outputs[0])


@lite_rule("FULLY_CONNECTED", keeps=EXACT)
def with_flat_result(e: SubgraphEditor, n: LiteOperator) -> None:
    """A bias of zeros is stated, and RESHAPE restores the dimensions that keep_num_dims keeps."""
    x, weights, *rest = n.inputs
    e.require(x, FLOAT)
    e.require(weights, FLOAT)
    keeps = bool(e.option(n, "keep_num_dims"))
    if rest and not keeps:
        raise Refusal("it has a bias and does not keep dimensions")
    options = {name: value for name, value in n.options.items() if name != "keep_num_dims"}
    units = e.static_shape(weights)[0]
    bias = rest[0] if rest else e.constant(np.zeros(units))
    if not keeps:
        e.op("FULLY_CONNECTED", (x, weights, bias), to=n.outputs[0], **options)
        return
    shape = e.static_shape(n.outputs[0])
    rows = int(np.prod(shape[:-1]))
    flat = e.op("FULLY_CONNECTED", (x, weights, bias), like=n.outputs[0], shape=(rows, shape[-1]), **options)
    e.op("RESHAPE", (flat, e.constant(shape, "int32")), to=n.outputs[0])


@lite_rule("BATCH_MATMUL", keeps=ROUNDING)
def matmul_by_fully_connected(e: SubgraphEditor, n: LiteOperator) -> None:
    """FULLY_CONNECTED multiplies by a constant matrix."""
    x, y = n.inputs
    e.require(x, FLOAT)
    e.require(y, FLOAT)
    if e.option(n, "adj_x"):
        raise Refusal("its first input is transposed")
    matrix = e.array(y)
    if matrix.ndim != 2:
        raise Refusal(f"its constant has {matrix.ndim} dimensions")
    weights = e.constant(matrix if e.option(n, "adj_y") else matrix.T)
    shape = e.static_shape(n.outputs[0])
    rows = int(np.prod(shape[:-1]))
    bias = e.constant(np.zeros(shape[-1]))
    flat = e.op(
        "FULLY_CONNECTED", (x, weights, bias), like=n.outputs[0], shape=(rows, shape[-1]),
        fused_activation_function="NONE",
    )  # fmt: skip
    e.op("RESHAPE", (flat, e.constant(shape, "int32")), to=n.outputs[0])


@lite_rule("TRANSPOSE", keeps=EXACT)
def transpose_of_fewer_dimensions(e: SubgraphEditor, n: LiteOperator) -> None:
    """Dimensions that stay side by side are transposed as one."""
    shape = e.static_shape(n.inputs[0])
    order = [int(axis) for axis in e.array(n.inputs[1])]
    groups = _kept_together(order)
    if len(groups) == len(order):
        raise Refusal("no dimensions stay side by side")
    first = sorted(groups)
    merged = [int(np.prod([shape[axis] for axis in group])) for group in first]
    joined = e.op("RESHAPE", (n.inputs[0], e.constant(merged, "int32")), like=n.inputs[0], shape=merged)
    new_order = [first.index(group) for group in groups]
    moved = e.op(
        "TRANSPOSE", (joined, e.constant(new_order, "int32")), like=n.inputs[0],
        shape=[merged[axis] for axis in new_order],
    )  # fmt: skip
    e.op("RESHAPE", (moved, e.constant(e.static_shape(n.outputs[0]), "int32")), to=n.outputs[0])


def _kept_together(order: Sequence[int]) -> list[tuple[int, ...]]:
    """The runs of axes that follow each other before and after: [0, 2, 3, 1] has (0,), (2, 3), (1,)."""
    groups: list[tuple[int, ...]] = []
    for axis in order:
        if groups and axis == groups[-1][-1] + 1:
            groups[-1] = (*groups[-1], axis)
        else:
            groups.append((axis,))
    return groups
