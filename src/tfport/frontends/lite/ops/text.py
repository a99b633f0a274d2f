"""Groups of words, and hashes of features."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
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
    factors = b.constant([], FLOAT32) if weights is None else weights
    return b.LiteLshProjection(seeds, items, factors, sparse=type == "SPARSE")
