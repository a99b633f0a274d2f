"""MediaPipe's pooling that keeps the places of the largest elements, and its inverse.

Windows must fill the image without overlap, as in MediaPipe's own models.
"""

from __future__ import annotations

import struct
from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import custom
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Value

NO_ACTIVATION = 0


@custom("MaxPoolingWithArgmax2D")
def max_pooling_with_argmax(b: OperatorBuilder, x: LiteValue) -> list[Value]:
    """A place is the number of the element in its window, and a tenth."""
    height, width = _window(b)
    _, rows, columns, channels = _sizes(b, x)
    if rows % height or columns % width:
        raise b.refuse(f"windows of {height} x {width} do not fill an image of {rows} x {columns}")
    split = b.Reshape(x, [-1, rows // height, height, columns // width, width, channels])
    windows = b.Reshape(
        b.Transpose(split, [0, 1, 3, 2, 4, 5]),
        [-1, rows // height, columns // width, height * width, channels],
    )
    places = b.cast(b.ArgMax(windows, 3, output_type=INT32), FLOAT32)
    return [b.Max(windows, [3]).output(0), b.Add(places, 0.1).output(0)]


@custom("MaxUnpooling2D")
def max_unpooling(b: OperatorBuilder, x: LiteValue, places: LiteValue) -> Value:
    """Each element at its place in a window of zeros."""
    height, width = _window(b)
    _, rows, columns, channels = _sizes(b, x)
    chosen = b.OneHot(b.cast(places, INT32), height * width, True, False, axis=3)
    zero = b.constant(0.0, FLOAT32)
    windows = b.Reshape(
        b.SelectV2(chosen, b.ExpandDims(x, 3), zero), [-1, rows, columns, height, width, channels]
    )
    return b.Reshape(
        b.Transpose(windows, [0, 1, 3, 2, 4, 5]), [-1, rows * height, columns * width, channels]
    ).output(0)


def _window(b: OperatorBuilder) -> tuple[int, int]:
    """The options are numbers without names: padding, strides, window and activation."""
    if len(b.operator.custom_options) < 24:
        raise b.refuse("its custom options are too short")
    _, stride_w, stride_h, width, height, activation = struct.unpack_from("<6i", b.operator.custom_options)
    if (stride_h, stride_w) != (height, width) or min(height, width) < 1 or activation != NO_ACTIVATION:
        raise b.refuse("windows that overlap or leave gaps, and activations, are not supported")
    return height, width


def _sizes(b: OperatorBuilder, x: LiteValue) -> Any:
    if len(x.shape) != 4 or None in x.shape[1:]:
        raise b.refuse("images of unknown size are not supported")
    return x.shape
