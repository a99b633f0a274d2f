"""Operators of language models: groups of words, hashes of features, rows of embedding tables."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.hybrid import real_weights
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node


@builtin("SKIP_GRAM")
def skip_gram(
    b: OperatorBuilder,
    text: LiteValue,
    *,
    ngram_size: int = 0,
    max_skip_size: int = 0,
    include_all_ngrams: bool = False,
) -> Node:
    return b.LiteSkipGram(
        text, ngram_size=ngram_size, max_skip_size=max_skip_size, include_all_ngrams=include_all_ngrams
    )


@builtin("LSH_PROJECTION", any_type=True)
def lsh_projection(
    b: OperatorBuilder, seeds: LiteValue, items: LiteValue, weights: LiteValue | None = None, *, type: str
) -> Node:
    if type not in ("SPARSE", "DENSE"):
        raise b.refuse(f"the type {type} is not supported")
    factors = b.const([], FLOAT32) if weights is None else weights
    return b.LiteLshProjection(seeds, items, factors, sparse=type == "SPARSE")


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
    """Rows of a table, weighted and combined by the positions of a sparse tensor."""
    if table.type != "FLOAT32":
        raise b.refuse(f"a table of type {table.type.lower()} is not supported")
    return b.LiteEmbeddingLookupSparse(rows, indices, shape, weights, table, combiner=combiner)
