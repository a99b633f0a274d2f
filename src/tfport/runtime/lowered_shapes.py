"""The output shapes of a node on the host, taken from the lowerings of its op.

A node runs on the host where the engine has no kernel for its types, for example strings. Its lowering
still says which shapes it has, so that ranks are known after it. Types that ONNX does not have are taken
for float32, and nothing that is lowered here runs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.frontends.lite.definitions import lite_definitions
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.op_signature import OpSignature
from tfport.runtime.host import group_inputs
from tfport.runtime.lower import LOWERINGS, CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.program import ONNX_TYPES


def lowered_shapes(op: str, inputs: Sequence[Operand], attrs: Mapping[str, Any]) -> list[Dims | None]:
    """The shape of each output of an op of TensorFlow or TensorFlow Lite; None where the rank is unknown."""
    signature = _signature(op)
    groups = group_inputs([_number(operand) for operand in inputs], attrs, signature)
    for declared in LOWERINGS.of(op):
        if not all(_is_allowed(attrs.get(name), allowed) for name, allowed in declared.constraints.items()):
            continue
        named = {name: _number_type(attrs[name]) for name in declared.named}
        try:
            answer = declared.function(Builder(op), *groups, **named)
        except CannotLower:
            continue
        return [output.shape for output in ([answer] if isinstance(answer, Operand) else answer)]
    return [None] * (signature.output_count(attrs) or 0)


@functools.cache
def _signature(op: str) -> OpSignature:
    own = lite_definitions().get(op)
    return OpSignature(known_ops()[op] if own is None else own)


def _number(operand: Operand) -> Operand:
    return operand if operand.dtype.name in ONNX_TYPES else Operand(FLOAT32, operand.shape)


def _is_allowed(value: Any, allowed: Sequence[Any]) -> bool:
    """Whether a lowering computes the same for this attribute; types decide only whether it can run."""
    elements = value if isinstance(value, list) else [value]
    return all(isinstance(element, DType) or element in allowed for element in elements)


def _number_type(value: Any) -> Any:
    return FLOAT32 if isinstance(value, DType) and value.name not in ONNX_TYPES else value
