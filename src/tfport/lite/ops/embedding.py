"""Rows of tables by their numbers."""

from __future__ import annotations

from typing import Any

from tfport.graph.graph import Node
from tfport.lite.builder import OperatorBuilder
from tfport.lite.hybrid import real_weights
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue


@builtin("EMBEDDING_LOOKUP")
def embedding_lookup(b: OperatorBuilder, rows: LiteValue, table: LiteValue) -> Node:
    """Integers of a table become real numbers if the output has these."""
    is_real = b.outputs[0].type == "FLOAT32" and table.is_quantized
    values: Any = real_weights(b, table) if is_real else table
    return b.GatherV2(values, rows, 0)
