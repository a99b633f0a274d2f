"""Output shapes of ragged host kernels."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.lower import shapes
from tfport.runtime.operand import Operand
from tfport.runtime.ops.sparse.shapes import VECTOR, Attrs, Shapes, shape_from_sizes


@shapes("RaggedTensorToTensor")
def ragged_to_tensor(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    shape, values = shape_from_sizes(inputs[0]), inputs[1].shape
    types = attrs["row_partition_types"]
    if shape is None and values is not None:
        levels = len(types) - (types[:1] == ["FIRST_DIM_SIZE"])
        shape = (None,) * (1 + levels) + values[1:]
    return [shape]


@shapes("RaggedGather RaggedTensorFromVariant")
def ragged_parts(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    splits: int = attrs["OUTPUT_RAGGED_RANK" if "OUTPUT_RAGGED_RANK" in attrs else "output_ragged_rank"]
    values = inputs[-2].shape if len(inputs) > 1 else None
    return [*[VECTOR] * splits, None if values is None else (None, *values[1:])]


@shapes("RaggedRange")
def ragged_range(inputs: Sequence[Operand], attrs: Attrs) -> Shapes:
    return [VECTOR, VECTOR]
