"""Constants that are stored in 16 bits and computed in 32."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Value


@builtin("DEQUANTIZE")
def dequantize(b: OperatorBuilder, x: LiteValue) -> Value:
    """Without a scale it widens float16 and bfloat16."""
    if not x.dtype.is_floating:
        raise b.refuse(f"its input of type {x.type.lower()} has no scale")
    return b.cast(x, FLOAT32)
