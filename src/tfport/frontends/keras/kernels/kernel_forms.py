"""How files store kernels: those of convolutions, and those with a low-rank update (LoRA)."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.formats.keras.records import BY_LAYER
from tfport.frontends.keras.data_format import CHANNELS_FIRST
from tfport.frontends.keras.instance import StoredForm
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import matmul

Shape = Sequence[int | None]


def kernel_forms(b: LayerBuilder, shape: Shape, data_format: str | None) -> tuple[StoredForm, ...]:
    """The forms of a kernel `(*window, channels, filters)`; none if it is stored like that.

    Keras 1 stores kernels of `channels_first` layers with the filters first, and those of one-dimensional
    convolutions as images. Theano convolves with the kernel reversed, and its files have it reversed.
    """
    spatial, as_it_is = len(shape) - 2, tuple(range(len(shape)))
    if b.version.major >= 2:
        return _forms(b, shape, spatial, as_it_is)
    if spatial == 1:  # as Keras 1.2 stores it, and those before
        return _forms(b, (shape[0], 1, *shape[1:]), spatial, (0, 1, 2, 3), (2, 3, 1, 0))
    first = (*range(2, len(shape)), 1, 0)
    return _forms(b, shape, spatial, first if data_format == CHANNELS_FIRST else as_it_is)


def transposed_kernel_forms(b: LayerBuilder, shape: Shape, data_format: str | None) -> tuple[StoredForm, ...]:
    """The forms of a kernel `(*window, filters, channels)` of a transposed convolution."""
    if b.version.major >= 2:
        return _forms(b, shape, len(shape) - 2, tuple(range(len(shape))))
    return _forms(b, shape, 2, (2, 3, 0, 1) if data_format == CHANNELS_FIRST else (0, 1, 3, 2))


def _forms(b: LayerBuilder, shape: Shape, spatial: int, *orders: tuple[int, ...]) -> tuple[StoredForm, ...]:
    """The forms whose axes in one of these orders have a shape."""
    is_reversed = b.model.file.backend == "theano"
    if b.version.major >= 2 and not is_reversed:
        return ()
    sizes = [dict(zip(order, shape, strict=True)) for order in orders]
    return tuple(
        StoredForm(tuple(size[axis] or 0 for axis in sorted(order)), order, spatial if is_reversed else 0)
        for order, size in zip(orders, sizes, strict=True)
    )


def kernel_and_bias(
    b: LayerBuilder,
    shape: Sequence[int | None],
    bias_shape: Sequence[int | None] | None,
    rank: int | None,
    alpha: float | None,
    forms: tuple[StoredForm, ...] = (),
) -> tuple[LayerTensor, LayerTensor | None]:
    """The kernel with its low-rank update, and the bias if the layer has one.

    Files with paths have the kernel with its update; files by layer have the parts.
    """
    stored = b.model.file.weights
    has_parts = rank is not None and stored is not None and stored.layout == BY_LAYER
    kernel = b.weight("kernel", shape, trainable=not has_parts, forms=forms)
    bias = b.weight("bias", bias_shape) if bias_shape is not None else None
    if not has_parts or rank is None:
        return kernel, bias
    down = b.weight("lora_kernel_a", (*shape[:-1], rank))
    up = b.weight("lora_kernel_b", (rank, shape[-1]))
    return b.Add(kernel, b.Mul(matmul(b, down, up), (alpha or rank) / rank)), bias
