"""Attention as an operation: queries, keys and values with heads."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import common_type, promoted, tensors_of
from tfport.frontends.keras.rearranging import repeated
from tfport.frontends.keras.reductions import softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import batch_matmul, expand_dims, select, transpose
from tfport.graph.building.sizes import count_to, sizes
from tfport.graph.dtypes import BOOL, FLOAT32

FAR_BELOW = -0.7 * 3.38953e38
"""The score of positions that do not count."""


@layer("ops.DotProductAttention")
def dot_product_attention(
    b: LayerBuilder,
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: Any = None,
    *,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> LayerTensor:
    """Tensors are `(batch, length, heads, size)`; several heads of queries may share keys and values."""
    if attn_logits_soft_cap is not None:
        raise b.refuse("it limits the scores, which Keras does only on a TPU")
    query, key, value = promoted(b, *tensors_of(b, query, key, value))
    heads, shared = query.shape[2], key.shape[2]
    if heads is not None and shared is not None and heads > shared > 1:
        key, value = (repeated(b, x, heads // shared, 2) for x in (key, value))
    query, key, value = (transpose(b, x, (0, 2, 1, 3)) for x in (query, key, value))
    scores = batch_matmul(b, query, key, adj_y=True)
    scores = b.cast(scores, common_type(scores.dtype, FLOAT32))
    factor = _default_scale(b, key) if scale is None else tensors_of(b, scale)[0]
    scores = b.Mul(scores, b.cast(factor, scores.dtype))
    if bias is not None:
        scores = b.Add(scores, b.cast(tensors_of(b, bias)[0], scores.dtype))
    allowed = _allowed(b, scores, mask, is_causal)
    if allowed is not None:
        scores = select(b, allowed, scores, b.Add(b.ZerosLike(scores), FAR_BELOW))
    weights = b.cast(softmax(b, scores), query.dtype)
    answer: LayerTensor = batch_matmul(b, weights, value)
    return transpose(b, answer, (0, 2, 1, 3))


def _default_scale(b: LayerBuilder, key: LayerTensor) -> LayerTensor:
    size = sizes(b, key)[-1]
    return b.Rsqrt(b.cast(size if isinstance(size, LayerTensor) else b.constant(size), FLOAT32))


def _allowed(b: LayerBuilder, scores: LayerTensor, mask: Any, is_causal: bool) -> LayerTensor | None:
    allowed = None if mask is None else b.cast(tensors_of(b, mask)[0], BOOL)
    if not is_causal:
        return allowed
    rows, columns = (count_to(b, size) for size in sizes(b, scores)[2:])
    causal = b.GreaterEqual(expand_dims(b, rows, 1), expand_dims(b, columns, 0))
    return causal if allowed is None else b.LogicalAnd(allowed, causal)
