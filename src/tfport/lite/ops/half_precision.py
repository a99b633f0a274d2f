"""Constants that are stored in 16 bits and computed in 32."""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Value
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue


@builtin("DEQUANTIZE")
def dequantize(b: OperatorBuilder, x: LiteValue) -> Value:
    """Without a scale it widens float16 and bfloat16."""
    if not x.dtype.is_floating:
        raise b.refuse(f"its input of type {x.type.lower()} has no scale")
    return b.cast(x, FLOAT32)
