"""Cut or pad images to the aspect ratio of a target size; the size that covers a target."""

from __future__ import annotations

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.sizes import Sizes, shape_vector, sizes
from tfport.graph.dtypes import FLOAT32, INT32

Length = int | LayerTensor


def cropped_to_ratio(b: LayerBuilder, images: LayerTensor, height: int, width: int) -> LayerTensor:
    """The largest part in the middle with the ratio of a size."""
    _, rows, columns, _ = sizes(b, images)
    kept_rows = Sizes(b).at_least(1, Sizes(b).at_most(rows, _scaled(b, columns, height, width)))
    kept_columns = Sizes(b).at_least(1, Sizes(b).at_most(columns, _scaled(b, rows, width, height)))
    top, left = _half(b, rows, kept_rows), _half(b, columns, kept_columns)
    begin, length = (shape_vector(b, part) for part in ([0, top, left, 0], [-1, kept_rows, kept_columns, -1]))
    known = [side if isinstance(side, int) else None for side in (kept_rows, kept_columns)]
    return b.tensor(b.node("Slice", images, begin, length), (images.shape[0], *known, images.shape[3]))


def padded_to_ratio(
    b: LayerBuilder, images: LayerTensor, height: int, width: int, value: float
) -> LayerTensor:
    """The image in the middle of the smallest frame around it with the ratio of a size."""
    _, rows, columns, _ = sizes(b, images)
    full_rows = Sizes(b).at_least(rows, _scaled(b, columns, height, width))
    full_columns = Sizes(b).at_least(columns, _scaled(b, rows, width, height))
    top, left = _half(b, full_rows, rows), _half(b, full_columns, columns)
    below = Sizes(b).sub(Sizes(b).sub(full_rows, rows), top)
    right = Sizes(b).sub(Sizes(b).sub(full_columns, columns), left)
    flat = shape_vector(b, [0, 0, top, below, left, right, 0, 0])
    paddings = b.node("Reshape", b.constant(flat, INT32) if isinstance(flat, list) else flat, [4, 2])
    known = [side if isinstance(side, int) else None for side in (full_rows, full_columns)]
    node = b.node("PadV2", images, paddings, b.constant(value, images.dtype))
    return b.tensor(node, (images.shape[0], *known, images.shape[3]))


def covering_size(b: LayerBuilder, images: LayerTensor, height: int, width: int) -> tuple[Length, Length]:
    """The smallest size with the ratio of the images that has at least this height and width."""
    _, rows, columns, _ = sizes(b, images)
    return (
        Sizes(b).at_least(height, _proportion(b, rows, width, columns)),
        Sizes(b).at_least(width, _proportion(b, columns, height, rows)),
    )


def _proportion(b: LayerBuilder, length: Length, factor: int, divisor: Length) -> Length:
    """`length * factor / divisor` in integers, without its fraction."""
    if isinstance(length, int) and isinstance(divisor, int):
        return length * factor // divisor
    return b.FloorDiv(b.Mul(b.constant(factor), length), divisor)


def _scaled(b: LayerBuilder, length: Length, numerator: int, denominator: int) -> Length:
    """`length * numerator / denominator` in float32, without its fraction."""
    if isinstance(length, int):
        return int(float(length * numerator) / denominator)
    quotient = b.RealDiv(b.cast(b.Mul(length, numerator), FLOAT32), float(denominator))
    return b.cast(quotient, INT32)


def _half(b: LayerBuilder, whole: Length, part: Length) -> Length:
    """Half of what is left of a length, without its fraction."""
    rest = Sizes(b).sub(whole, part)
    return rest // 2 if isinstance(rest, int) else b.FloorDiv(rest, 2)
