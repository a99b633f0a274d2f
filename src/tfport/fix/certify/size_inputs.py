"""Whether the value of an input decides how large something becomes, or how often something runs.

A huge number made up for such an input would only fill the memory. Sizes are told by the names
that ops give their arguments; a sum, a product or a cast of the input counts as the input.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfport.fix.certify.input_uses import readings
from tfport.graph.graph import Node, Value

SIZES = {
    "count", "depth", "dims", "input_sizes", "k", "limit", "limits", "maxlen", "maxlength", "minlength",
    "multiples", "num", "num_cols", "num_columns", "num_elements", "num_rows", "num_segments", "output_shape",
    "padding", "paddings", "segment_ids", "shape", "size", "sizes", "starts", "start",
}  # fmt: skip
NO_SIZES = {"Reshape", "EnsureShape", "Slice"}
"""Ops whose result has as many elements as their input at most, whatever they are told."""
NO_VALUES = {"sparse_indices", "sparse_shapes", "ragged_row_splits"}
"""Outputs of what parses Examples that tell how many there are."""
LOOPS = {"While", "StatelessWhile", "Enter", "RefEnter"}
FORGETS = {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike", "Gather", "GatherV2", "ResourceGather"}
"""Ops in whose result the magnitude of what they read is gone."""


def decides_sizes(start: Value) -> bool:
    for reading in readings(start, _numbers):
        node, value = reading.node, None
        if reading.index < len(node.inputs):
            value = node.inputs[reading.index]
        if node.op in LOOPS and value is not None and value.dtype.is_integer:
            return True
        if node.op not in NO_SIZES and _argument(node, reading.index) in SIZES:
            return True
    return False


def _numbers(node: Node, index: int) -> Iterable[Value]:
    """Outputs that may be as large as an input."""
    if node.op in FORGETS:
        return ()
    outputs = [v for v in node.outputs if v.dtype.is_integer or v.dtype.is_floating]
    return [v for v in outputs if (v.port or ("",))[0] not in NO_VALUES]


def _argument(node: Node, index: int) -> str:
    """The name of the argument that an input belongs to; nothing behind a list."""
    for i, arg in enumerate(node.signature.inputs if node.signature else ()):
        if arg.is_list:
            return ""
        if i == index:
            return arg.name
    return ""
