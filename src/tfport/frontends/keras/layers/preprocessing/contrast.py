"""Layers that spread the values of images over their range: AutoContrast, and histograms of tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.frontends.keras.data_format import channels_last
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.rearranging import cumulative, one_hot, padded
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, gather, reduce, reshape, select, slice_axis, transpose
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import FLOAT32, INT32

LEVELS = 256
BYTES = (0, 255)


@layer("AutoContrast")
def auto_contrast(
    b: LayerBuilder, x: LayerTensor, *, value_range: Sequence[float] = BYTES, data_format: str | None = None
) -> LayerTensor:
    """Each channel from its smallest to its largest value; a channel with one value stays as it is.

    Keras takes the second and third axis for height and width, whatever the data format.
    """
    x = b.cast(x, b.dtype)
    images = _from_range(b, x, value_range, BYTES)
    low, high = (reduce(b, op, images, [1, 2], keep=True) for op in ("Min", "Max"))
    scale = b.RealDiv(255.0, b.Sub(high, low))
    stretched = b.Add(b.Mul(images, scale), b.Mul(b.Neg(low), scale))
    results = _from_range(b, _clipped(b, stretched), BYTES, value_range)
    return select(b, b.IsNan(results), x, results)


@layer("ContrastLimitedAdaptiveHistogramEqualization", casts_inputs=False)
def adaptive_equalization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    value_range: Sequence[float] = BYTES,
    clip_limit: float = 4.0,
    tile_grid_size: Sequence[int] = (8, 8),
    data_format: str | None = None,
) -> LayerTensor:
    """Each pixel by its rank among those of the tiles around it."""
    if x.rank != 4 or None in x.shape[1:]:
        raise b.refuse(f"it gets a tensor {x}; expected a batch of images of a known size")
    dtype = b.dtype if x.dtype.is_floating else x.dtype

    def equalized(images: LayerTensor) -> LayerTensor:
        whole = _from_range(b, b.cast(images, FLOAT32), value_range, BYTES)
        result = _Tiles(b, whole, tile_grid_size).equalized(clip_limit)
        return b.cast(_from_range(b, result, BYTES, value_range), dtype)

    return channels_last(b, data_format, b.cast(x, dtype), equalized)


class _Tiles:
    """A batch of images cut into a grid of tiles, with copies of the last rows and columns where it needs."""

    def __init__(self, b: LayerBuilder, images: LayerTensor, grid: Sequence[int]) -> None:
        self.b, self.grid = b, (grid[0], grid[1])
        self.size = [size or 0 for size in images.shape[1:3]]
        self.channels = images.shape[3] or 0
        self.tile = [-(-size // count) for size, count in zip(self.size, self.grid, strict=True)]
        missing = [t * n - s for t, n, s in zip(self.tile, self.grid, self.size, strict=True)]
        pairs = [(0, 0), *((0, count) for count in missing), (0, 0)]
        whole = padded(b, images, pairs, "symmetric", None) if any(missing) else images
        self.pixels = b.cast(_clipped(b, whole), INT32)

    def equalized(self, clip_limit: float) -> LayerTensor:
        b, (height, width) = self.b, self.size
        ranks = self._with_border(self._ranks(clip_limit))
        low_y, part_y = self._positions(0)
        low_x, part_x = self._positions(1)
        rows = [self._at(ranks, low_y + step, low_x) for step in (0, 1)]
        next_columns = [self._at(ranks, low_y + step, low_x + 1) for step in (0, 1)]
        top, bottom = (
            b.Add(b.Mul(first, 1.0 - part_x), b.Mul(second, part_x))
            for first, second in zip(rows, next_columns, strict=True)
        )
        result = b.Add(b.Mul(top, 1.0 - part_y), b.Mul(bottom, part_y))
        return slice_axis(b, slice_axis(b, result, 1, None, height), 2, None, width)

    def _ranks(self, clip_limit: float) -> LayerTensor:
        """For each tile, channel and level, the rank of the level from 0 to 255."""
        b, (tile_height, tile_width), (rows, columns) = self.b, self.tile, self.grid
        cut = reshape(b, self.pixels, (None, rows, tile_height, columns, tile_width, self.channels))
        area = tile_height * tile_width
        flat = reshape(b, transpose(b, cut, (0, 1, 3, 5, 2, 4)), (None, rows, columns, self.channels, area))
        counts = reduce(b, "Sum", one_hot(b, flat, LEVELS, -1, FLOAT32), [-2])
        if clip_limit > 0:
            clipped = b.Minimum(counts, float(np.float32(clip_limit * area / LEVELS)))
            excess = reduce(b, "Sum", b.Sub(counts, clipped), [-1], keep=True)
            counts = b.Add(clipped, b.RealDiv(excess, float(LEVELS)))
        totals = cumulative(b, "Cumsum", counts, -1)
        smallest = reduce(b, "Min", totals, [-1], keep=True)
        rest = b.Sub(float(area), smallest)
        rest = select(b, b.Equal(rest, 0.0), b.OnesLike(rest), rest)
        return _clipped(b, b.RealDiv(b.Mul(b.Sub(totals, smallest), 255.0), rest))

    def _with_border(self, ranks: LayerTensor) -> LayerTensor:
        """Tiles around the grid that repeat those at its edges."""
        for axis in (1, 2):
            first, last = (slice_axis(self.b, ranks, axis, *ends) for ends in ((0, 1), (-1, None)))
            ranks = concat(self.b, [first, ranks, last], axis)
        return ranks

    def _positions(self, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """The tile before each row or column, and how far it is towards the next one."""
        tile = self.tile[axis]
        middle = np.arange(tile * self.grid[axis], dtype=np.float32)
        position = (middle - np.float32(tile / 2)) / np.float32(tile) + np.float32(1)
        shape = (1, -1, 1, 1) if axis == 0 else (1, 1, -1, 1)
        low = np.floor(position)
        return low.astype(np.int32).reshape(shape), (position - low).reshape(shape)

    def _at(self, ranks: LayerTensor, rows: np.ndarray, columns: np.ndarray) -> LayerTensor:
        """The rank of each pixel in a tile near it."""
        b = self.b
        strides = np.cumprod([LEVELS, self.channels, self.grid[1] + 2, self.grid[0] + 2])
        channels = np.arange(self.channels, dtype=np.int32) * LEVELS
        inside = (channels + rows * strides[2] + columns * strides[1]).astype(np.int32)
        first = b.Mul(b.tensor(b.node("Range", 0, sizes(b, self.pixels)[0], 1), (None,)), int(strides[3]))
        start = reshape(b, first, (None, 1, 1, 1))
        position = b.Add(b.Add(self.pixels, b.constant(inside, INT32)), start)
        return gather(b, reshape(b, ranks, (None,)), position)


def _clipped(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Minimum(b.Maximum(x, 0.0), 255.0)


def _from_range(b: LayerBuilder, x: LayerTensor, old: Sequence[float], new: Sequence[float]) -> LayerTensor:
    """Values of one range as those of another."""
    if tuple(old) == tuple(new):
        return x
    portion = b.RealDiv(b.Sub(x, float(old[0])), float(old[1] - old[0]))
    return b.Add(b.Mul(portion, float(new[1] - new[0])), float(new[0]))
