"""Recognize convolutions of enlarged images, and compute them from the small ones.

Where the pixels of an image are repeated, a convolution multiplies the same pixel with several weights.
A transposed convolution of the small image, with strides and the sums of these weights, gives the same
with a half (in one dimension) to a third (in three) of the products, and without the large image.
A GPU computes the convolution itself faster: on an H200, two autoencoders of images took 0.15 and 3.4 ms
with convolutions, 0.52 and 3.6 with transposed ones.

Models repeat pixels in three ways: ResizeNearestNeighbor by a power of two; a new axis, Tile and Reshape;
Split into single rows and ConcatV2 of each row several times. That the sizes fit is proven with
expressions of the unknown sizes (`symbolic_values`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.attrs import Attr
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node
from tfport.runtime.lower import structure
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.ops.nn.kernels.convolution import convolution
from tfport.runtime.ops.nn.onnx_layouts import channels_second, from_channels_second
from tfport.runtime.ops.nn.windows import DataLayout
from tfport.runtime.ops.shared.lowered_sizes import whole
from tfport.runtime.program import Step
from tfport.runtime.symbolic_values import SymbolicValues, size_of_axis
from tfport.runtime.trace import TracedStep, Tracer
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@structure("Conv2D Conv3D")
def convolution_of_enlarged(
    tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]
) -> Sequence[Operand]:
    """A transposed convolution of the small image, where there is one; itself otherwise."""
    x, weights = inputs
    is_file = tracer.hosted is not None  # which would be larger: the new weights are more
    if not is_file and not tracer.engine.on_device and _may_be_transposed(x, weights, attrs):
        expand = tracer.traced.get(x)
        if expand is None or expand.step.op != "ExpandDims":
            expand = None  # of a 1-D convolution
        repeated = repeated_pixels(tracer, expand.step.inputs[0] if expand else x)
        if repeated is not None and expand is not None:
            repeated = _with_new_axis(tracer, repeated, expand)
        kernel = weights.array
        if (
            repeated is not None
            and kernel is not None
            and _is_spatial(repeated, weights, attrs)
            and np.isfinite(kernel).all()
        ):
            return [_transposed(tracer, node, repeated, kernel, attrs)]
    return tracer.plain(node, inputs, attrs)


def _may_be_transposed(x: Operand, weights: Operand, attrs: dict[str, Any]) -> bool:
    """Whether it is a convolution with SAME padding and constant weights, without strides and dilations."""
    return (
        x.dtype == FLOAT32
        and attrs["padding"] == "SAME"
        and {*attrs["strides"], *attrs["dilations"]} == {1}
        and x.rank == len(attrs["data_format"]) == weights.rank
        and weights.array is not None
        and weights.array.size > 0
    )


def _is_spatial(repeated: RepeatedPixels, weights: Operand, attrs: dict[str, Any]) -> bool:
    """Whether only spatial axes are repeated, and all channels are convolved together."""
    layout, shape = DataLayout(attrs["data_format"]), repeated.source.shape
    others = repeated.times[0], repeated.times[layout.channel_axis]
    return (
        others == (1, 1)
        and shape is not None
        and weights.shape is not None
        and shape[layout.channel_axis] == weights.shape[-2]
    )


def _with_new_axis(tracer: Tracer, repeated: RepeatedPixels, expand: TracedStep) -> RepeatedPixels | None:
    """The small image with the axis that a 1-D convolution adds."""
    (x,) = tracer.plain(expand.node, [repeated.source, *expand.step.inputs[1:]], dict(expand.step.attrs))
    added = expand.step.inputs[1].known
    if x.rank is None or not added or added[0] is None:
        return None
    times = list(repeated.times)
    times.insert(added[0] % x.rank, 1)
    return RepeatedPixels(x, tuple(times))


def _transposed(
    tracer: Tracer, node: Node, repeated: RepeatedPixels, weights: NDArray[Any], attrs: dict[str, Any]
) -> Operand:
    layout = DataLayout(attrs["data_format"])
    times = [repeated.times[axis] for axis in layout.spatial_axes]

    def run(x: Any) -> Any:
        for axis, n in enumerate(repeated.times):
            x = np.repeat(x, n, axis)
        return convolution(layout, x, weights, attrs["strides"], attrs["dilations"], "SAME")

    def lower(b: Builder, x: Operand) -> Operand:
        image = channels_second(b, x, layout)
        enlarged = _volume(b, image, weights, times) if len(times) == 3 else _image(b, image, weights, times)
        large = from_channels_second(b, enlarged, layout)
        large.shape = shape
        return large

    sizes = zip(repeated.source.shape or (), repeated.times, strict=True)
    shape = tuple(
        weights.shape[-1] if axis == layout.channel_axis else None if size is None else size * n
        for axis, (size, n) in enumerate(sizes)
    )
    return emit(tracer, node.name, node.op, [repeated.source], run, (FLOAT32, shape), lower)


def _image(b: Builder, x: Operand, weights: NDArray[Any], times: Sequence[int]) -> Operand:
    """A transposed convolution with strides, channels second."""
    summed = summed_weights(weights, times)
    # SAME padding without strides: half of the window before, the larger half after
    before = [size // 2 for size in weights.shape[: len(times)]]
    after = [size - 1 - size // 2 for size in weights.shape[: len(times)]]
    return b.ConvTranspose(
        x,
        b.const(summed, FLOAT32),
        kernel_shape=list(summed.shape[2:]),
        strides=list(times),
        pads=[*before, *after],
    )


def _volume(b: Builder, x: Operand, weights: NDArray[Any], times: Sequence[int]) -> Operand:
    """The same for a volume, plane by plane: the engine's transposed convolution of volumes is slow.

    A plane of the result is computed from the planes of `x` around it, as the channels of one image.
    """
    depth = [_summed_planes(weights, times[0], phase) for phase in range(times[0])]
    before = max(0, *(-min(planes) for planes in depth))
    after = max(0, *(max(planes) for planes in depth))
    outputs = weights.shape[-1]
    padded = b.Pad(b.transpose(x, (0, 2, 1, 3, 4)), b.ints(0, before, 0, 0, 0, 0, after, 0, 0, 0))
    rows, phases = b.Shape(x, start=3, end=5), []
    for planes in depth:
        around = [_planes_from(b, padded, before + offset, offset - after) for offset in planes]
        channels = np.concatenate(list(planes.values()), axis=-2)
        shape = b.Concat(b.ints(-1, channels.shape[-2]), rows, axis=0)
        flat = b.Reshape(b.Concat(*around, axis=2), shape)
        flat.shape = (None, channels.shape[-2], None, None)
        phases.append(_image(b, flat, channels, times[1:]))
    together = b.Concat(*(b.unsqueeze(phase, 1) for phase in phases), axis=1)
    large = b.Concat(
        b.Shape(x, start=0, end=1), b.ints(-1, outputs), b.Shape(phases[0], start=2, end=4), axis=0
    )
    result = b.Reshape(together, large)
    result.shape = (None, None, outputs, None, None)
    return b.transpose(result, (0, 2, 1, 3, 4))


def _planes_from(b: Builder, x: Operand, start: int, end: int) -> Operand:
    """The planes of the second axis from `start` on, without the last `-end`."""
    return b.Slice(x, b.ints(start), b.ints(end if end < 0 else np.iinfo(np.int64).max), b.ints(1))


def _summed_planes(weights: NDArray[Any], times: int, phase: int) -> dict[int, NDArray[Any]]:
    """For the planes `times · i + phase` of the result: the weights of plane `i + offset`, by offset."""
    planes: dict[int, NDArray[Any]] = {}
    for tap, plane in enumerate(weights.astype(np.float64)):
        offset = (phase - (len(weights) - 1) // 2 + tap) // times
        planes[offset] = planes.get(offset, 0) + plane
    return planes


def summed_weights(weights: NDArray[Any], times: Sequence[int]) -> NDArray[Any]:
    """The mirrored weights (channels, outputs, spatial) of the transposed convolution, summed in float64."""
    n = len(times)
    mirrored = np.flip(weights, tuple(range(n))).astype(np.float64).transpose(n, n + 1, *range(n))
    for axis, count in enumerate(times):
        padding = [(0, 0)] * mirrored.ndim
        padding[2 + axis] = (count - 1, count - 1)
        padded = np.pad(mirrored, padding)
        windows = np.lib.stride_tricks.sliding_window_view(padded, count, 2 + axis)
        mirrored = windows.sum(-1)
    return np.ascontiguousarray(mirrored, np.float32)


# Images whose pixels are those of a smaller one, each repeated along the spatial axes


@dataclass(frozen=True, slots=True)
class RepeatedPixels:
    """An image, and how often each of its elements is repeated along each axis."""

    source: Operand
    times: tuple[int, ...]


def repeated_pixels(tracer: Tracer, x: Operand) -> RepeatedPixels | None:
    """The smallest image that `x` is an enlargement of; None if there is none."""
    times = [1] * (x.rank or 0)
    while (traced := tracer.traced.get(x)) is not None:
        repeated = _enlarged(tracer, traced.step)
        if repeated is None or len(repeated.times) != len(times):
            break
        x, times = repeated.source, [a * b for a, b in zip(times, repeated.times, strict=True)]
    return RepeatedPixels(x, tuple(times)) if max(times, default=1) > 1 else None


def _enlarged(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    match step.op:
        case "ResizeNearestNeighbor":
            return _resized(tracer, step)
        case "Reshape":
            return _tiled(tracer, step)
        case "ConcatV2":
            return _joined(tracer, step)
    return None


def _resized(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    x, sizes = step.inputs[0], SymbolicValues(tracer).of(step.inputs[1])
    if x.rank != 4 or sizes is None or sizes.shape != (2,) or step.attrs["align_corners"]:
        return None
    for times in (2, 4, 8):  # for other numbers, rounding may choose another pixel
        if all(sizes[i] == size_of_axis(tracer, x, 1 + i) * times for i in range(2)):
            return RepeatedPixels(x, (1, times, times, 1))
    return None


def _tiled(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    """The elements of an axis repeated along a new axis after it, which are then one axis."""
    tile = tracer.traced.get(step.inputs[0])
    expand = tracer.traced.get(tile.step.inputs[0]) if tile is not None and tile.step.op == "Tile" else None
    if tile is None or expand is None or expand.step.op != "ExpandDims":
        return None
    x, new, multiples = expand.step.inputs[0], whole(expand.step.inputs[1]), whole(tile.step.inputs[1])
    if x.rank is None or new is None or multiples is None or len(multiples) != x.rank + 1:
        return None
    axis = new[0] % (x.rank + 1)
    others = [n for i, n in enumerate(multiples) if i != axis]
    if axis == 0 or {*others} != {1} or multiples[axis] < 1:
        return None
    times = tuple(multiples[axis] if i == axis - 1 else 1 for i in range(x.rank))
    sizes = SymbolicValues(tracer).of(step.inputs[1])
    if sizes is None or sizes.shape != (x.rank,):
        return None
    expected = [size_of_axis(tracer, x, i) * n for i, n in enumerate(times)]
    return RepeatedPixels(x, times) if list(sizes) == expected else None


def _joined(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    """The elements of an axis of known size, each several times."""
    *parts, axis = step.inputs
    split = tracer.traced.get(parts[0])
    if split is None or split.step.op != "Split":
        return None
    source, rows = split.step.inputs[1], split.step.outputs
    along, joined = whole(split.step.inputs[0]), whole(axis)
    if source.rank is None or along is None or joined is None or len(parts) % len(rows):
        return None
    if along[0] % source.rank != joined[0] % source.rank or not _has_single_rows(source, along[0], rows):
        return None
    count = len(parts) // len(rows)
    if parts != [row for row in rows for _ in range(count)]:
        return None
    return RepeatedPixels(
        source, tuple(count if i == along[0] % source.rank else 1 for i in range(source.rank))
    )


def _has_single_rows(source: Operand, axis: int, rows: Sequence[Operand]) -> bool:
    return source.shape is not None and source.shape[axis] == len(rows)
