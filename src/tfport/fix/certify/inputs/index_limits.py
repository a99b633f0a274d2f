"""How many rows a table has that an input selects from: ids beyond it would be refused.

The input is followed to ops that gather rows, also through casts: Keras feeds ids as float32.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfport.fix.certify.inputs.input_uses import PASS_THROUGH, Reading, readings
from tfport.graph.graph import Node, Value
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

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
    for _ in range(64):
        if value in reading.passed:
            value = reading.passed[value]
        elif value.node.op in ("Identity", "ReadVariableOp") and value.node.inputs:
            value = value.node.inputs[0]
        else:
            break
    stated = value.node.attrs.get("shape")
    if isinstance(stated, Shape):
        return stated
    tensor = value.node.attrs.get("value")
    return tensor.shape if isinstance(tensor, Tensor) else value.shape
