"""Embedding and Masking, the layers where masks start."""

from __future__ import annotations

from math import ceil
from typing import Any

from tfport.frontends.keras.kernels.quantized import INT8, Quantization, unpacked
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, gather, matmul, reduce, transpose
from tfport.graph.dtypes import FLOAT32, INT32, INT64, DType


@layer("Embedding", casts_inputs=False)
def embedding(
    b: LayerBuilder, x: LayerTensor, *, input_dim: int, output_dim: int, mask_zero: bool = False,
    dropout: float = 0.0, sparse: bool = False, lora_rank: Any = None, lora_alpha: Any = None,
    quantization_config: Any = None,
) -> LayerTensor:  # fmt: skip
    """Rows of a table; files have low-rank adapters (`lora_rank`) added to the table already."""
    if b.policy.quantization:
        return _quantized(b, x, (input_dim, output_dim), mask_zero)
    return _rows(b, b.weight("embeddings", (input_dim, output_dim)), x, mask_zero)


def _rows(b: LayerBuilder, table: LayerTensor, x: LayerTensor, mask_zero: bool) -> LayerTensor:
    indices = x if x.dtype in (INT32, INT64) else b.cast(x, INT32)
    rows = gather(b, table, indices.with_mask(None))
    return rows.with_mask(b.NotEqual(x, 0)) if mask_zero else rows


def _quantized(b: LayerBuilder, x: LayerTensor, shape: tuple[int, int], mask_zero: bool) -> LayerTensor:
    """The table as whole numbers, with a scale for each row, or for each block of a row and with a zero."""
    how = Quantization.of(b.policy.quantization)
    if how.mode not in ("int8", "int4"):
        raise b.refuse(f"its table is quantized as {b.policy.quantization}, which Keras does not do")
    rows, columns = shape
    width = columns if how.mode == "int8" else ceil(columns / 2)
    table = b.weight("embeddings", (rows, width), trainable=False, dtype=INT8)
    blocks = () if how.mode == "int8" or how.group_size == -1 else (how.groups(columns),)
    scales = b.weight("embeddings_scale", (rows, *blocks), trainable=False)
    taken = _rows(b, table, x, mask_zero)
    values, scale = b.cast(taken, b.dtype), _rows(b, scales, x, mask_zero=False)
    if how.mode == "int4":
        values = unpacked(b, values, values.rank - 1, columns, is_signed=True)
    if not blocks:
        return b.RealDiv(values, expand_dims(b, scale, -1)).with_mask(taken.mask)
    zeros = b.weight("embeddings_zero", (rows, *blocks), trainable=False, dtype=INT8)
    groups = b.cast(b.weight("g_idx", (columns,), trainable=False, dtype=FLOAT32), INT32)
    zero = b.cast(_rows(b, zeros, x, mask_zero=False), b.dtype)
    centered = b.Sub(values, gather(b, zero, groups, -1))
    return b.Mul(centered, gather(b, scale, groups, -1)).with_mask(taken.mask)


@layer("ReversibleEmbedding", casts_inputs=False)
def reversible_embedding(
    b: LayerBuilder, x: LayerTensor, reverse: bool = False, *, input_dim: int, output_dim: int,
    mask_zero: bool = False, tie_weights: bool = True, reverse_dtype: str | None = None,
    logit_soft_cap: float | None = None, lora_rank: Any = None, lora_alpha: Any = None,
    quantization_config: Any = None,
) -> LayerTensor:  # fmt: skip
    """An Embedding that also computes how much a vector is like each row."""
    if b.policy.quantization:
        raise b.refuse(f"its table is quantized as {b.policy.quantization}, which tfport does not build")
    table = b.weight("embeddings", (input_dim, output_dim))
    others = None if tie_weights else b.weight("reverse_embeddings", (output_dim, input_dim))
    if not reverse:
        return _rows(b, table, x, mask_zero)
    kernel = transpose(b, table, (1, 0)) if others is None else others
    dtype = b.dtype if reverse_dtype is None else DType.parse(reverse_dtype)
    logits = matmul(b, b.cast(x, dtype), b.cast(kernel, dtype))
    if logit_soft_cap is None:
        return logits
    return b.Mul(b.Tanh(b.RealDiv(logits, logit_soft_cap)), logit_soft_cap)


@layer("Masking")
def masking(b: LayerBuilder, x: LayerTensor, *, mask_value: float = 0.0) -> LayerTensor:
    """Time steps in which all features have the value are masked, and become zeros."""
    mask = reduce(b, "Any", b.NotEqual(x, mask_value), [-1])
    return b.Mul(x, b.cast(expand_dims(b, mask, -1), x.dtype)).with_mask(mask)
