"""How files store the kernels of convolutions.

Keras 1 stores kernels of `channels_first` layers with the filters first, and those of one-dimensional
convolutions as images. Theano convolves with the kernel reversed, so files of its backend have it reversed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.frontends.keras.data_format import CHANNELS_FIRST
from tfport.frontends.keras.instance import StoredForm
from tfport.frontends.keras.layer_builder import LayerBuilder

Shape = Sequence[int | None]


def kernel_forms(b: LayerBuilder, shape: Shape, data_format: str | None) -> tuple[StoredForm, ...]:
    """The forms of a kernel `(*window, channels, filters)`; none if it is stored like that."""
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
