"""Attention layers: with one head (Attention, AdditiveAttention) and with several.

Layers with one head are called with `[query, value]` or `[query, value, key]`. MultiHeadAttention and
GroupedQueryAttention project queries, keys and values several times.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.masks import (
    FAR_BELOW,
    FLOAT16_MIN,
    causal_mask,
    masked_softmax,
    merged,
    only_where,
    window_mask,
)
from tfport.frontends.keras.reductions import softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import batch_matmul, expand_dims, reduce, reshape
from tfport.graph.building.products import einsum
from tfport.graph.building.sizes import sizes
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


# Several heads


@layer("MultiHeadAttention")
def multi_head_attention(
    b: LayerBuilder,
    query: LayerTensor,
    value: LayerTensor,
    key: LayerTensor | None = None,
    query_mask: LayerTensor | None = None,
    value_mask: LayerTensor | None = None,
    key_mask: LayerTensor | None = None,
    attention_mask: LayerTensor | None = None,
    return_attention_scores: bool = False,
    training: Json = None,
    use_causal_mask: bool = False,
    *,
    num_heads: int,
    key_dim: int,
    value_dim: int | None = None,
    dropout: float = 0.0,
    use_bias: bool = True,
    use_gate: bool = False,
    output_shape: int | Sequence[int] | None = None,
    attention_axes: int | Sequence[int] | None = None,
    sliding_window: int | None = None,
    flash_attention: Json = None,
    seed: Json = None,
    query_shape: Json = None,
    key_shape: Json = None,
    value_shape: Json = None,
) -> Any:
    key = value if key is None else key
    masks = [query_mask or query.mask, value_mask or value.mask, key_mask or key.mask]
    mask = _mask(b, query, value, masks, attention_mask, use_causal_mask, sliding_window)
    heads, value_heads = [num_heads, key_dim], [num_heads, value_dim or key_dim]
    queries = _project(b, "query_dense", "query", query, 1, heads, use_bias)
    keys = _project(b, "key_dense", "key", key, 1, heads, use_bias)
    gate = _project(b, "gate_dense", "gate", query, 1, value_heads, use_bias, "sigmoid") if use_gate else None
    values = _project(b, "value_dense", "value", value, 1, value_heads, use_bias)
    axes = _attention_axes(b, attention_axes, values.rank)
    shows_weights = dropout > 0 or return_attention_scores
    output, weights = _attend_heads(b, queries, keys, values, mask, axes, key_dim**-0.5, shows_weights)
    if gate is not None:
        output = b.Mul(output, gate)
    shape: Any = output_shape or query.shape[-1]
    last: list[int | None] = list(shape) if isinstance(shape, list | tuple) else [shape]
    result = _project(b, "output_dense", "attention_output", output, 2, last, use_bias)
    result = result.with_mask(query.mask if b.version.numbers >= (2, 10) else None)
    return (result, weights) if return_attention_scores else result


@layer("GroupedQueryAttention GroupQueryAttention")
def grouped_query_attention(
    b: LayerBuilder,
    query: LayerTensor,
    value: LayerTensor,
    key: LayerTensor | None = None,
    query_mask: LayerTensor | None = None,
    value_mask: LayerTensor | None = None,
    key_mask: LayerTensor | None = None,
    attention_mask: LayerTensor | None = None,
    return_attention_scores: bool = False,
    training: Json = None,
    use_causal_mask: bool = False,
    *,
    head_dim: int,
    num_query_heads: int,
    num_key_value_heads: int,
    dropout: float = 0.0,
    use_bias: bool = True,
    use_gate: bool = False,
    sliding_window: int | None = None,
    flash_attention: Json = None,
    seed: Json = None,
) -> Any:
    key = value if key is None else key
    masks = [query_mask or query.mask, value_mask or value.mask, key_mask or key.mask]
    mask = _mask(b, query, value, masks, attention_mask, use_causal_mask, sliding_window)
    heads, groups = [num_query_heads, head_dim], [num_key_value_heads, head_dim]
    queries = _project(b, "query_dense", "query", query, 1, heads, use_bias)
    keys = _project(b, "key_dense", "key", key, 1, groups, use_bias)
    gate = _project(b, "gate_dense", "gate", query, 1, heads, use_bias, "sigmoid") if use_gate else None
    values = _project(b, "value_dense", "value", value, 1, groups, use_bias)
    repeats = num_query_heads // num_key_value_heads
    keys, values = (_repeated(b, x, repeats) for x in (keys, values))
    shows_weights = dropout > 0 or return_attention_scores
    output, weights = _attend_heads(b, queries, keys, values, mask, [1], head_dim**-0.5, shows_weights)
    if gate is not None:
        output = b.Mul(output, gate)
    last = [query.shape[-1]]
    result = _project(b, "output_dense", "attention_output", output, 2, last, use_bias).with_mask(query.mask)
    return (result, weights) if return_attention_scores else result


def _mask(
    b: LayerBuilder,
    query: LayerTensor,
    value: LayerTensor,
    masks: Sequence[LayerTensor | None],
    attention_mask: LayerTensor | None,
    causal: bool,
    window: int | None,
) -> LayerTensor | None:
    """The positions that each query may attend to; Keras regards the masks of its inputs since 2.10."""
    implied: list[LayerTensor | None] = []
    if b.version.numbers >= (2, 10):
        first, *others = masks
        implied = [first and expand_dims(b, first, -1)]
        implied += [mask and expand_dims(b, mask, -2) for mask in others if mask is not None]
    implied.append(causal_mask(b, query, value) if causal else None)
    implied.append(window_mask(b, query, value, window) if window is not None else None)
    automatic = merged(b, implied)
    if automatic is None or attention_mask is None:
        return attention_mask if automatic is None else automatic
    return b.LogicalAnd(b.cast(attention_mask, BOOL), automatic)


def _project(
    b: LayerBuilder,
    attribute: str,
    name: str,
    x: LayerTensor,
    bound: int,
    shape: Sequence[int | None],
    use_bias: bool,
    activation: str | None = None,
) -> LayerTensor:
    """The product of the last `bound` axes with a kernel; the inner layer is an EinsumDense."""
    letters = string.ascii_lowercase
    free, summed = letters[: x.rank - bound], letters[x.rank - bound : x.rank]
    new = letters[x.rank : x.rank + len(shape)]
    config = {
        "name": name,
        "equation": f"{free}{summed},{summed}{new}->{free}{new}",
        "output_shape": [None] * (len(free) - 1) + list(shape),
        "bias_axes": new if use_bias else None,
        "activation": activation,
        "trainable": b.instance.trainable,
        "dtype": b.instance.config.config.get("dtype"),
    }
    result: LayerTensor = b.call(b.sublayer(attribute, {"class_name": "EinsumDense", "config": config}), x)
    return result.with_mask(None)


def _attention_axes(b: LayerBuilder, axes: int | Sequence[int] | None, rank: int) -> list[int]:
    """The axes that attention goes over, of projections of this rank."""
    if axes is None:
        return list(range(1, rank - 2))
    last = rank - 1 if b.version.numbers >= (3, 12) else rank
    return [axis % last for axis in ([axes] if isinstance(axes, int) else axes)]


def _attend_heads(
    b: LayerBuilder,
    queries: LayerTensor,
    keys: LayerTensor,
    values: LayerTensor,
    mask: LayerTensor | None,
    axes: Sequence[int],
    scale: float,
    shows_weights: bool,
) -> tuple[LayerTensor, LayerTensor]:
    """The values weighted by attention, and the weights."""
    rank, letters = keys.rank, string.ascii_lowercase
    target = letters[:rank]
    source = "".join(letters[rank + i] if i in axes else letter for i, letter in enumerate(target))
    batch = "".join(letter for i, letter in enumerate(target) if i not in axes and i != rank - 1)
    product = batch + "".join(target[i] for i in axes) + "".join(source[i] for i in axes)
    scores = einsum(b, f"{target},{source}->{product}", b.Mul(queries, scale), keys)
    if mask is not None:
        for _ in range(scores.rank - mask.rank):
            mask = expand_dims(b, mask, mask.rank - 2 * len(axes))
    last = list(range(scores.rank - len(axes), scores.rank))
    # Keras 3.7 and later use another function where nobody asks for the weights
    if b.version.numbers >= (3, 7) and not shows_weights and rank == 4:
        weights = softmax(b, only_where(b, scores, mask), axis=last)
    else:
        weights = masked_softmax(b, scores, mask, last)
    return einsum(b, f"{product},{source}->{target}", weights, values), weights


def _repeated(b: LayerBuilder, x: LayerTensor, repeats: int) -> LayerTensor:
    """Each head of keys or values for several heads of queries."""
    if repeats == 1:
        return x
    batch, length, heads, size = sizes(b, x)
    copies = b.tensor(b.node("Tile", expand_dims(b, x, 3), [1, 1, 1, repeats, 1]), (None,) * 5)
    known = (x.shape[0], x.shape[1], x.shape[2] and x.shape[2] * repeats, x.shape[3])
    assert isinstance(heads, int)
    return b.tensor(reshape(b, copies, (batch, length, heads * repeats, size)).value, known)
