"""Kernels with a low-rank update (LoRA).

Files with paths have the kernel with its update; files by layer have the parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.formats.keras.records import BY_LAYER
from tfport.frontends.keras.arrays import matmul
from tfport.frontends.keras.instance import StoredForm
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor


def kernel_and_bias(
    b: LayerBuilder,
    shape: Sequence[int | None],
    bias_shape: Sequence[int | None] | None,
    rank: int | None,
    alpha: float | None,
    forms: tuple[StoredForm, ...] = (),
) -> tuple[LayerTensor, LayerTensor | None]:
    """The kernel with its update, and the bias if the layer has one."""
    stored = b.model.file.weights
    has_parts = rank is not None and stored is not None and stored.layout == BY_LAYER
    kernel = b.weight("kernel", shape, trainable=not has_parts, forms=forms)
    bias = b.weight("bias", bias_shape) if bias_shape is not None else None
    if not has_parts or rank is None:
        return kernel, bias
    down = b.weight("lora_kernel_a", (*shape[:-1], rank))
    up = b.weight("lora_kernel_b", (rank, shape[-1]))
    return b.Add(kernel, b.Mul(matmul(b, down, up), (alpha or rank) / rank)), bias
