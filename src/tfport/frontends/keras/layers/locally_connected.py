"""LocallyConnected: convolutions whose kernel differs at every position.

Keras stores the kernel in three ways (`implementation`): one matrix per position, a matrix from all inputs to
all outputs of which only the windows count, or the elements of the windows alone.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tfport.formats.keras.records import Json
from tfport.frontends.keras.activations import activate
from tfport.frontends.keras.data_format import CHANNELS_FIRST, per_axis, spatial_axes, spatial_rank
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import window_counts
from tfport.graph.building.arrays import batch_matmul, expand_dims, reshape, squeeze, transpose
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

PER_PLACE, MASKED, ELEMENTS = 1, 2, 3
LARGEST_MATRIX = 1 << 28
"""How many elements the matrix from all inputs to all outputs may have."""


@dataclass(frozen=True, slots=True)
class WindowLayout:
    """The sizes around a locally connected layer."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    channels: int
    filters: int
    padding: str
    is_channels_first: bool

    @property
    def input_dims(self) -> tuple[int, ...]:
        return self._dims(self.channels, self.inputs)

    @property
    def output_dims(self) -> tuple[int, ...]:
        return self._dims(self.filters, self.outputs)

    def _dims(self, channels: int, spatial: tuple[int, ...]) -> tuple[int, ...]:
        return (channels, *spatial) if self.is_channels_first else (*spatial, channels)


@layer("LocallyConnected1D LocallyConnected2D")
def locally_connected(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    filters: int,
    kernel_size: Json,
    strides: Json = 1,
    padding: str = "valid",
    data_format: str | None = None,
    activation: Json = None,
    use_bias: bool = True,
    implementation: int = 1,
) -> LayerTensor:
    n = spatial_rank(b)
    window, steps = per_axis(b, kernel_size, n), per_axis(b, strides, n)
    sizes = [x.shape[axis] for axis in spatial_axes(data_format, x.rank)]
    channels = x.shape[1 if data_format == CHANNELS_FIRST else -1]
    if None in sizes or channels is None:
        raise b.refuse("the sizes of its input are unknown, on which its weights depend")
    inputs = tuple(size or 0 for size in sizes)
    outputs = tuple(size or 0 for size in window_counts(inputs, window, steps, padding, [1] * n))
    layout = WindowLayout(
        inputs, outputs, window, steps, channels, filters, padding, data_format == CHANNELS_FIRST
    )
    if implementation == PER_PLACE:
        y = _per_position(b, x, layout)
    elif implementation in (MASKED, ELEMENTS):
        y = _by_matrix(b, x, layout, implementation)
    else:
        raise b.refuse(f"its implementation {implementation} is unknown; expected 1, 2 or 3")
    if use_bias:
        bias = b.weight("bias", (*outputs, filters))
        y = b.Add(y, reshape(b, bias, (1, *layout.output_dims)))  # Keras reshapes it, in both layouts
    return activate(b, activation, y)


def _per_position(b: LayerBuilder, x: LayerTensor, layout: WindowLayout) -> LayerTensor:
    """One product for each position: of its window with its matrix."""
    area, count = prod(layout.window), prod(layout.outputs)
    kernel = b.weight("kernel", (count, area * layout.channels, layout.filters))
    if layout.is_channels_first:
        x = transpose(b, x, (0, *range(2, x.rank), 1))
        kernel = transpose(
            b, reshape(b, kernel, (count, layout.channels, area, layout.filters)), (0, 2, 1, 3)
        )
        kernel = reshape(b, kernel, (count, area * layout.channels, layout.filters))
    patches = reshape(b, _patches(b, x, layout), (x.shape[0], count, area * layout.channels))
    product = batch_matmul(b, transpose(b, patches, (1, 0, 2)), kernel)
    y = reshape(b, transpose(b, product, (1, 0, 2)), (x.shape[0], *layout.outputs, layout.filters))
    return transpose(b, y, (0, y.rank - 1, *range(1, y.rank - 1))) if layout.is_channels_first else y


def _patches(b: LayerBuilder, x: LayerTensor, layout: WindowLayout) -> LayerTensor:
    if x.rank == 3:
        x = expand_dims(b, x, 1)
        return squeeze(b, _image_patches(b, x, (1, *layout.window), (1, *layout.strides), layout), 1)
    return _image_patches(b, x, layout.window, layout.strides, layout)


def _image_patches(
    b: LayerBuilder, x: LayerTensor, window: tuple[int, ...], strides: tuple[int, ...], layout: WindowLayout
) -> LayerTensor:
    return b.ExtractImagePatches(
        x, ksizes=[1, *window, 1], strides=[1, *strides, 1], rates=[1, 1, 1, 1], padding="VALID"
    )


def _by_matrix(b: LayerBuilder, x: LayerTensor, layout: WindowLayout, implementation: int) -> LayerTensor:
    """One product: of all inputs with the matrix to all outputs."""
    inputs, outputs = prod(layout.input_dims), prod(layout.output_dims)
    if inputs * outputs > LARGEST_MATRIX:
        raise b.refuse(f"its matrix has {inputs * outputs} elements; at most {LARGEST_MATRIX} are built")
    connected = _connections(layout)
    if implementation == MASKED:
        kernel = b.weight("kernel", (*layout.input_dims, *layout.output_dims))
        kernel = b.Mul(reshape(b, kernel, (inputs, outputs)), b.constant(connected, kernel.dtype))
    else:
        import numpy as np

        indices = np.argwhere(connected.T)
        elements = b.weight("kernel", (len(indices),))
        node = b.node("ScatterNd", indices.astype("i4"), elements, [outputs, inputs])
        kernel = transpose(b, b.tensor(node, (outputs, inputs)), (1, 0))
    rows = reshape(b, x, (None, inputs))
    product = b.MatMul(rows, kernel)
    return reshape(b, product, (x.shape[0], *layout.output_dims))


def _connections(layout: WindowLayout) -> NDArray[Any]:
    """Which input belongs to the window of which output, as a matrix."""
    import numpy as np

    spatial = [_connected_axis(*sizes, layout.padding) for sizes in zip(
        layout.inputs, layout.outputs, layout.window, layout.strides, strict=True
    )]  # fmt: skip
    channels = np.ones((layout.channels, layout.filters), bool)
    factors = [channels, *spatial] if layout.is_channels_first else [*spatial, channels]
    matrix = np.ones((1, 1), bool)
    for factor in factors:
        matrix = np.kron(matrix, factor)
    return matrix


def _connected_axis(size: int, count: int, window: int, stride: int, padding: str) -> NDArray[Any]:
    """As in Keras, a `same` window is centered at its output times the stride."""
    import numpy as np

    starts = np.arange(count) * stride - (window // 2 if padding == "same" else 0)
    indices = np.arange(size)[:, None]
    inside: NDArray[Any] = (indices >= starts) & (indices < starts + window)
    return inside
