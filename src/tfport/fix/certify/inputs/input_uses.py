"""What the readers of a model's input say about its values.

`input_roles` interprets more of them. Two answers are given here: how many rows a table has that an input
selects from (`index_limit`), and whether its value determines a size (`decides_sizes`).
"""

from __future__ import annotations

from collections.abc import Iterable

from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.kinds import ENTERS, SHAPE_OPS, WHILES
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.graph.value_readers import PASS_THROUGH, Reading, readings

# Inputs that select rows of a table: ids beyond its end would be refused. The input is followed to
# ops that gather rows, also through casts: Keras feeds ids as float32.

TABLES = {"Gather": 0, "GatherV2": 0, "ResourceGather": 0, "SparseSegmentSum": 0, "SparseSegmentMean": 0}
"""Ops that read indices as their second input, and the input that is the table."""
MOST_ROWS = 1 << 31


def index_limit(start: Value) -> int | None:
    """The rows of the smallest table that a value selects from; None if it selects from none."""
    rows = [n for reading in readings(start, _same_ids) if (n := _rows(reading)) is not None]
    return min(rows, default=None)


def _same_ids(node: Node, index: int) -> Iterable[Value]:
    """Outputs with the same ids: also after a cast to integers."""
    is_cast = node.op == "Cast" and node.outputs and node.outputs[0].dtype.is_integer
    return node.outputs if is_cast or (node.op in PASS_THROUGH and index == 0) else ()


def _rows(reading: Reading) -> int | None:
    """The number of rows of the table, for a reading as indices."""
    node = reading.node
    if node.op not in TABLES or reading.index != 1:
        return None
    table = node.inputs[TABLES[node.op]]
    axis = reading.constant(2) if node.op == "GatherV2" else None
    if axis is not None and (axis.size != 1 or int(axis.flat[0]) != 0):
        return None
    dims = _shape(table, reading).dims
    return dims[0] if dims and dims[0] is not None and 0 < dims[0] < MOST_ROWS else None


def _shape(value: Value, reading: Reading) -> Shape:
    """The shape of a table: of the value, or of the variable behind it."""
    value = value.source(("Identity", "ReadVariableOp"), reading.passed)
    stated = value.node.attrs.get("shape")
    if isinstance(stated, Shape):
        return stated
    tensor = value.node.attrs.get("value")
    return tensor.shape if isinstance(tensor, Tensor) else value.shape


# Inputs that determine a size or an iteration count: a huge value would only fill the memory. Sizes are
# recognized by the argument names of ops; a sum, product or cast of the input counts as the input.

SIZES = {
    "count", "depth", "dims", "input_sizes", "k", "limit", "limits", "maxlen", "maxlength", "minlength",
    "multiples", "num", "num_cols", "num_columns", "num_elements", "num_rows", "num_segments", "output_shape",
    "padding", "paddings", "segment_ids", "shape", "size", "sizes", "starts", "start",
}  # fmt: skip
NO_SIZES = {"Reshape", "EnsureShape", "Slice"}
"""Ops whose result never has more elements than their input."""
NO_VALUES = {"sparse_indices", "sparse_shapes", "ragged_row_splits"}
"""Outputs of ops that parse Examples, whose values do not come from the input."""
LOOPS = {*WHILES, *ENTERS}
FORGETS = {*SHAPE_OPS, "ZerosLike", "OnesLike", "Gather", "GatherV2", "ResourceGather"}
"""Ops whose result does not depend on the magnitude of their input."""


def decides_sizes(start: Value) -> bool:
    for reading in readings(start, _numbers):
        node, value = reading.node, None
        if reading.index < len(node.inputs):
            value = node.inputs[reading.index]
        if node.op in LOOPS and value is not None and value.dtype.is_integer:
            return True
        if node.op not in NO_SIZES and reading.argument in SIZES:
            return True
    return False


def _numbers(node: Node, index: int) -> Iterable[Value]:
    """Outputs whose values may be as large as the input's."""
    if node.op in FORGETS:
        return ()
    outputs = [v for v in node.outputs if v.dtype.is_integer or v.dtype.is_floating]
    return [v for v in outputs if (v.port or ("",))[0] not in NO_VALUES]
