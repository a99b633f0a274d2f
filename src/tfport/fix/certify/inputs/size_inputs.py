"""Whether the value of an input determines a size or an iteration count.

A huge value for such an input would only fill the memory. Sizes are recognized by the argument
names of ops; a sum, product or cast of the input counts as the input.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfport.fix.certify.inputs.input_uses import readings
from tfport.graph.graph import Node, Value

SIZES = {
    "count", "depth", "dims", "input_sizes", "k", "limit", "limits", "maxlen", "maxlength", "minlength",
    "multiples", "num", "num_cols", "num_columns", "num_elements", "num_rows", "num_segments", "output_shape",
    "padding", "paddings", "segment_ids", "shape", "size", "sizes", "starts", "start",
}  # fmt: skip
NO_SIZES = {"Reshape", "EnsureShape", "Slice"}
"""Ops whose result never has more elements than their input."""
NO_VALUES = {"sparse_indices", "sparse_shapes", "ragged_row_splits"}
"""Outputs of ops that parse Examples, whose values do not come from the input."""
LOOPS = {"While", "StatelessWhile", "Enter", "RefEnter"}
FORGETS = {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike", "Gather", "GatherV2", "ResourceGather"}
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
