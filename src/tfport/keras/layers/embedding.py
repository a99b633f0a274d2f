"""Embedding and Masking, the layers where masks start."""

from __future__ import annotations

from typing import Any

from tfport.graph.dtypes import INT32, INT64
from tfport.keras.arrays import expand_dims, gather, reduce
from tfport.keras.layer import layer
from tfport.keras.layer_builder import LayerBuilder
from tfport.keras.tensor import LayerTensor


@layer("Embedding")
def embedding(
    b: LayerBuilder, x: LayerTensor, *, input_dim: int, output_dim: int, mask_zero: bool = False,
    dropout: float = 0.0, sparse: bool = False, lora_rank: Any = None, lora_alpha: Any = None,
) -> LayerTensor:  # fmt: skip
    """Rows of a table; files have low-rank adapters (`lora_rank`) added to the table already."""
    if b.policy.quantization:
        raise b.refuse(f"its table is quantized as {b.policy.quantization}, which tfport does not build")
    table = b.weight("embeddings", (input_dim, output_dim))
    indices = x if x.dtype in (INT32, INT64) else b.cast(x, INT32)
    rows = gather(b, table, indices.with_mask(None))
    return rows.with_mask(b.NotEqual(x, 0)) if mask_zero else rows


@layer("Masking")
def masking(b: LayerBuilder, x: LayerTensor, *, mask_value: float = 0.0) -> LayerTensor:
    """Time steps in which all features have the value are masked, and become zeros."""
    mask = reduce(b, "Any", b.NotEqual(x, mask_value), [-1])
    return b.Mul(x, b.cast(expand_dims(b, mask, -1), x.dtype)).with_mask(mask)
