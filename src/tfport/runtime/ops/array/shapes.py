"""Output shapes of array host kernels, taken from the lowering of the op.

Elements that ONNX has no type for, such as strings, are treated as float32, so that ranks are known
after them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.graph.dtypes import FLOAT32
from tfport.graph.op_signature import OpSignature
from tfport.runtime.host import group_inputs
from tfport.runtime.lower import LOWERINGS, SHAPES, CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.program import ONNX_TYPES

MOVING = (
    "BroadcastTo Concat ConcatV2 EnsureShape ExpandDims Fill Gather GatherNd GatherV2 MirrorPad Pack Pad "
    "PadV2 Rank Reshape Reverse ReverseSequence ReverseV2 Roll Shape ShapeN Size Slice Split SplitV Squeeze "
    "StridedSlice Tile Transpose Unpack ZerosLike"
)


def _shapes_of(op: str) -> Callable[[Sequence[Operand], Mapping[str, Any]], list[Dims | None]]:
    def shapes(inputs: Sequence[Operand], attrs: Mapping[str, Any]) -> list[Dims | None]:
        signature = _signature(op)
        groups = group_inputs([_number(operand) for operand in inputs], attrs, signature)
        for declared in LOWERINGS.of(op):
            try:
                answer = declared.function(
                    Builder(op), *groups, **{name: attrs[name] for name in declared.named}
                )
            except CannotLower:
                continue
            return [output.shape for output in (answer if isinstance(answer, list) else [answer])]
        return [None] * (signature.output_count(attrs) or 0)

    return shapes


@functools.cache
def _signature(op: str) -> OpSignature:
    return OpSignature(known_ops()[op])


def _number(operand: Operand) -> Operand:
    return operand if operand.dtype.name in ONNX_TYPES else Operand(FLOAT32, operand.shape)


for op in MOVING.split():
    SHAPES.add(op, _shapes_of(op))
