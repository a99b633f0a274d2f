"""Attention and AdditiveAttention: one head, called with `[query, value]` or `[query, value, key]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.formats.keras.records import Json
from tfport.frontends.keras.arrays import batch_matmul, expand_dims, reduce
from tfport.frontends.keras.attention_masks import FAR_BELOW, FLOAT16_MIN, causal_mask, merged
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.softmax import softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL


@layer("Attention", keeps_mask=True)
def attention(
    b: LayerBuilder,
    inputs: Sequence[LayerTensor],
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
    *,
    use_scale: bool = False,
    score_mode: str = "dot",
    causal: bool = False,
    dropout: float = 0.0,
    seed: Json = None,
) -> Any:
    query, _, key = _query_value_key(b, inputs)
    scale = b.weight("scale", ()) if use_scale else None
    if score_mode == "dot":
        scores = batch_matmul(b, query, key, adj_y=True)
        scores = scores if scale is None else b.Mul(scores, scale)
    else:
        total = _sums(b, query, key)
        total = b.Tanh(total if scale is None else b.Mul(scale, total))
        scores = b.Mul(b.weight("concat_score_weight", ()), reduce(b, "Sum", total, [-1]))
    return _attend(b, inputs, scores, causal or use_causal_mask, return_attention_scores)


@layer("AdditiveAttention", keeps_mask=True)
def additive_attention(
    b: LayerBuilder,
    inputs: Sequence[LayerTensor],
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
    *,
    use_scale: bool = True,
    causal: bool = False,
    dropout: float = 0.0,
    seed: Json = None,
) -> Any:
    query, _, key = _query_value_key(b, inputs)
    terms = b.Tanh(_sums(b, query, key))
    if use_scale:
        terms = b.Mul(b.weight("scale", (query.shape[-1],)), terms)
    scores = reduce(b, "Sum", terms, [-1])
    return _attend(b, inputs, scores, causal or use_causal_mask, return_attention_scores)


def _query_value_key(
    b: LayerBuilder, inputs: Sequence[LayerTensor]
) -> tuple[LayerTensor, LayerTensor, LayerTensor]:
    if not isinstance(inputs, list | tuple) or len(inputs) not in (2, 3):
        raise b.refuse("it is called with something else than [query, value] or [query, value, key]")
    return inputs[0], inputs[1], inputs[-1]


def _sums(b: LayerBuilder, query: LayerTensor, key: LayerTensor) -> LayerTensor:
    """Each query plus each key."""
    return b.Add(expand_dims(b, query, -2), expand_dims(b, key, -3))


def _attend(
    b: LayerBuilder, inputs: Sequence[LayerTensor], scores: LayerTensor, causal: bool, return_scores: bool
) -> Any:
    """The values weighted by the softmax of the scores, with the masks of queries and values."""
    query, value, _ = _query_value_key(b, inputs)
    mask = value.mask
    # Keras 3 before 3.12 has the mask of values without an axis for queries, unless it is causal too
    if mask is not None and (causal or not (3, 0) <= b.version.numbers < (3, 12)):
        mask = expand_dims(b, mask, -2)
    mask = merged(b, [mask, causal_mask(b, query, value) if causal else None])
    if mask is not None:
        lowest = FLOAT16_MIN if str(scores.dtype) == "float16" else FAR_BELOW
        scores = b.Add(scores, b.Mul(b.cast(b.LogicalNot(mask), scores.dtype), lowest))
    weights = softmax(b, scores)
    result = batch_matmul(b, weights, value)
    if query.mask is not None:
        wanted = expand_dims(b, b.cast(query.mask, BOOL), -1)
        result = b.Mul(result, b.cast(wanted, result.dtype)).with_mask(query.mask)
    return (result, weights) if return_scores else result
