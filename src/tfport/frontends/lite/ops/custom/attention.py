"""Custom ops of language models: attention, and the rotation of activations before they are rounded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import custom
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value

HEADS_FIRST = [0, 2, 1, 3]


@custom("odml.scaled_dot_product_attention")
def attention(
    b: OperatorBuilder,
    query: LiteValue,
    key: LiteValue,
    value: LiteValue,
    mask: LiteValue | None = None,
    *,
    scale: float = 0.0,
    logit_cap: float = 0.0,
) -> Node:
    """Inputs are (batch, time, heads, depth); several heads of the query may share one of key and value."""
    depth, heads, shared = query.shape[-1], query.shape[2], key.shape[2]
    if query.type != "FLOAT32" or query.rank != 4 or not depth or not heads or not shared or heads % shared:
        raise b.refuse("only float32 of known sizes (batch, time, heads, depth) is supported")
    factor = float(scale) or float(np.float32(1 / math.sqrt(depth)))
    rows = b.Transpose(b.Mul(query, factor), HEADS_FIRST)
    keys, values = (_for_heads(b, x, heads // shared) for x in (key, value))
    logits = b.BatchMatMulV2(rows, keys, adj_y=True)
    if logit_cap:
        logits = b.Mul(b.Tanh(b.RealDiv(logits, float(logit_cap))), float(logit_cap))
    weights = b.Softmax(logits if mask is None else b.AddV2(logits, mask))
    return b.Transpose(b.BatchMatMulV2(weights, values), HEADS_FIRST)


def _for_heads(b: OperatorBuilder, x: LiteValue, times: int) -> Node:
    """Key or value with the heads before time, each so many times."""
    heads = x.shape[2] or 1
    if times == 1 or heads == 1:
        return b.Transpose(x, HEADS_FIRST)
    indices = np.repeat(np.arange(heads), times)
    return b.Transpose(b.GatherV2(x, indices.astype(np.int32), 2), HEADS_FIRST)


@custom("aeq.hadamard_rotation")
def hadamard_rotation(b: OperatorBuilder, x: LiteValue, *, hadamard_size: int) -> Value:
    """Parts of the last axis, each times a Hadamard matrix: sums and differences of halves."""
    size, last = hadamard_size, x.shape[-1] if x.rank else None
    if (
        x.type != "FLOAT32"
        or x.rank not in (2, 3)
        or size < 1
        or size & (size - 1)
        or not last
        or last % size
    ):
        raise b.refuse(f"parts of {size} do not fit a tensor {list(x.shape)} of {x.type.lower()}")
    y: Any = x
    step = 1
    while step < size:
        halves = b.Split(1, b.Reshape(y, [-1, 2, step]), num_split=2)
        first, second = halves.output(0), halves.output(1)
        y = b.ConcatV2([b.AddV2(first, second), b.Sub(first, second)], 1)
        step *= 2
    scaled = b.Mul(y, float(np.float32(1) / np.sqrt(np.float32(size))))
    return b.Reshape(scaled, b.Shape(x)).output(0)
