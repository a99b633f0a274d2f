"""Rows of tables by their numbers."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.hybrid import real_weights
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node


@builtin("EMBEDDING_LOOKUP")
def embedding_lookup(b: OperatorBuilder, rows: LiteValue, table: LiteValue) -> Node:
    """Integers of a table become real numbers if the output has these."""
    is_real = b.outputs[0].type == "FLOAT32" and table.is_quantized
    values: Any = real_weights(b, table) if is_real else table
    return b.GatherV2(values, rows, 0)


@builtin("EMBEDDING_LOOKUP_SPARSE")
def embedding_lookup_sparse(
    b: OperatorBuilder,
    rows: LiteValue,
    indices: LiteValue,
    shape: LiteValue,
    weights: LiteValue,
    table: LiteValue,
    *,
    combiner: str = "SUM",
) -> Node:
    """Rows of a table, weighted and combined by the places of a sparse tensor."""
    if table.type != "FLOAT32":
        raise b.refuse(f"a table of type {table.type.lower()} is not supported")
    return b.LiteEmbeddingLookupSparse(rows, indices, shape, weights, table, combiner=combiner)
