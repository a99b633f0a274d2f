"""The custom ops of MediaPipe's models.

Attention on parts of a face, transposed convolution with bias, and pooling that keeps the positions of the
largest elements, with its inverse.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import custom
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Node, Value

PADDINGS = {1: "SAME", 2: "VALID"}


@custom("Convolution2DTransposeBias")
def transposed_convolution(b: OperatorBuilder, x: LiteValue, weights: LiteValue, bias: LiteValue) -> Node:
    """The options are numbers without names: padding, horizontal and vertical stride."""
    if len(b.operator.custom_options) < 12:
        raise b.refuse("its custom options are too short")
    padding, stride_w, stride_h = struct.unpack_from("<3i", b.operator.custom_options)
    if padding not in PADDINGS or stride_w < 1 or stride_h < 1:
        raise b.refuse(f"padding {padding} or strides {stride_h}, {stride_w} are not supported")
    channels, *window, _ = weights.shape
    sizes = []
    for size, stride, extent in zip(x.shape[1:3], (stride_h, stride_w), window, strict=True):
        if size is None or extent is None:
            raise b.refuse("images of unknown size are not supported")
        removed = max(0, extent - (size - 1) % stride - 1) if PADDINGS[padding] == "SAME" else 0
        sizes.append(stride * (size - 1) + extent - removed)
    batch = b.StridedSlice(b.Shape(x), [0], [1], [1])
    y = b.Conv2DBackpropInput(
        b.ConcatV2([batch, [*sizes, channels]], 0),
        b.Transpose(weights, [1, 2, 0, 3]),
        x,
        strides=[1, stride_h, stride_w, 1],
        padding=PADDINGS[padding],
    )
    return b.BiasAdd(y, bias)


@custom("Landmarks2TransformMatrix")
def landmarks_to_matrix(
    b: OperatorBuilder,
    landmarks: LiteValue,
    *,
    left_rotation_idx: int,
    right_rotation_idx: int,
    subset_idxs: list[int],
    output_height: int,
    output_width: int,
    scale_x: float,
    scale_y: float,
    target_rotation_radians: float = 0.0,
) -> Node:
    """Where the upright box around some landmarks is: from positions in an output to those in the input."""
    _only_second(b)
    points = b.Reshape(landmarks, [-1, 3])
    left, right = (
        _numbers(b, b.GatherV2(points, index, 0), 2) for index in (left_rotation_idx, right_rotation_idx)
    )
    angle = b.Sub(target_rotation_radians, b.Atan2(b.Sub(right[1], left[1]), b.Sub(right[0], left[0])))
    cos, sin = b.Cos(angle), b.Sin(angle)
    chosen = b.GatherV2(points, b.const(np.array(subset_idxs).reshape(-1), INT32), 0)
    x, y = (b.Reshape(b.Slice(chosen, [0, axis], [-1, 1]), [-1]) for axis in (0, 1))
    transposed = b.Sub(b.Mul(x, cos), b.Mul(y, sin)), b.Add(b.Mul(x, sin), b.Mul(y, cos))
    lowest, highest = ([b.node(op, t, [0]) for t in transposed] for op in ("Min", "Max"))
    middle_x, middle_y = (b.Mul(b.Add(a, c), 0.5) for a, c in zip(lowest, highest, strict=True))
    width, height = (b.Sub(c, a) for a, c in zip(lowest, highest, strict=True))
    center_x = b.Add(b.Mul(middle_x, cos), b.Mul(middle_y, sin))
    center_y = b.Sub(b.Mul(middle_y, cos), b.Mul(middle_x, sin))
    by_x, by_y = b.Mul(width, scale_x / output_width), b.Mul(height, scale_y / output_height)
    # rotation back, then scale
    xx, xy = b.Mul(cos, by_x), b.Mul(sin, by_y)
    yx, yy = b.Neg(b.Mul(sin, by_x)), b.Mul(cos, by_y)
    half_w, half_h = output_width / 2, output_height / 2
    shift_x = b.Sub(center_x, b.Add(b.Mul(xx, half_w), b.Mul(xy, half_h)))
    shift_y = b.Sub(center_y, b.Add(b.Mul(yx, half_w), b.Mul(yy, half_h)))
    zero, unit = b.const(np.float32(0)), b.const(np.float32(1))
    rows = [xx, xy, zero, shift_x, yx, yy, zero, shift_y, zero, zero, unit, zero, zero, zero, zero, unit]
    return b.Reshape(b.Pack(rows), [1, 4, 4])


@custom("TransformTensorBilinear")
def transform_bilinear(
    b: OperatorBuilder, x: LiteValue, matrix: LiteValue, *, output_height: int, output_width: int
) -> Node:
    """The image seen through an affine map, zero outside of it."""
    _only_second(b)
    _, height, width, channels = x.shape
    if height is None or width is None or channels is None:
        raise b.refuse("images of unknown size are not supported")
    m = _numbers(b, b.Reshape(matrix, [16]), 8)
    ys, xs = np.mgrid[:output_height, :output_width].astype(np.float32).reshape(2, -1)
    place_x, place_y = (
        # pixels are where their centers are
        b.Add(
            b.Add(b.Mul(m[r], xs), b.Mul(m[r + 1], ys)),
            b.Sub(b.Add(m[r + 3], b.Mul(b.Add(m[r], m[r + 1]), 0.5)), 0.5),
        )
        for r in (0, 4)
    )
    first_x, first_y = b.Floor(place_x), b.Floor(place_y)
    right, lower = (b.ExpandDims(b.Sub(p, f), 1) for p, f in ((place_x, first_x), (place_y, first_y)))
    pixels = b.Reshape(x, [-1, channels])

    def corner(down: int, across: int) -> Node:
        row = b.Minimum(b.Maximum(b.Add(b.cast(first_y, INT32), down), 0), height - 1)
        column = b.Minimum(b.Maximum(b.Add(b.cast(first_x, INT32), across), 0), width - 1)
        return b.GatherV2(pixels, b.Add(b.Mul(row, width), column), 0)

    upper_row, lower_row = (
        b.Add(b.Mul(b.Sub(1.0, right), corner(down, 0)), b.Mul(right, corner(down, 1))) for down in (0, 1)
    )
    mixed = b.Add(b.Mul(lower, lower_row), b.Mul(b.Sub(1.0, lower), upper_row))
    inside_x = b.LogicalAnd(b.GreaterEqual(place_x, 0.0), b.LessEqual(place_x, float(width - 1)))
    inside_y = b.LogicalAnd(b.GreaterEqual(place_y, 0.0), b.LessEqual(place_y, float(height - 1)))
    inside = b.Select(b.LogicalAnd(inside_x, inside_y), mixed, b.ZerosLike(mixed))
    return b.Reshape(inside, [1, output_height, output_width, channels])


@custom("TransformLandmarks")
def transform_landmarks(b: OperatorBuilder, landmarks: LiteValue, matrix: LiteValue) -> Node:
    """The first two coordinates after an affine map; a third one stays."""
    _only_second(b)
    flat = b.Reshape(matrix, [4, 4])
    turn, shift = b.Slice(flat, [0, 0], [2, 2]), b.Reshape(b.Slice(flat, [0, 3], [2, 1]), [1, 2])
    dimensions = landmarks.shape[-1]
    points = b.Reshape(landmarks, [-1, dimensions])
    moved = b.Add(b.MatMul(b.Slice(points, [0, 0], [-1, 2]), turn, transpose_b=True), shift)
    whole = moved if dimensions == 2 else b.ConcatV2([moved, b.Slice(points, [0, 2], [-1, -1])], 1)
    return b.Reshape(whole, b.Shape(landmarks))


def _only_second(b: OperatorBuilder) -> None:
    if b.operator.code.version != 2:
        raise b.refuse(f"its version {b.operator.code.version} is not supported, only version 2")


def _numbers(b: OperatorBuilder, vector: Node, count: int) -> list[Value]:
    """The first elements of a vector, as scalars."""
    return [b.StridedSlice(vector, [i], [i + 1], [1], shrink_axis_mask=1).output(0) for i in range(count)]


# Pooling: windows must fill the image without overlap, as in MediaPipe's own models

NO_ACTIVATION = 0


@custom("MaxPoolingWithArgmax2D")
def max_pooling_with_argmax(b: OperatorBuilder, x: LiteValue) -> list[Value]:
    """A position is the number of the element in its window, and a tenth."""
    height, width = _window(b)
    _, rows, columns, channels = _sizes(b, x)
    if rows % height or columns % width:
        raise b.refuse(f"windows of {height} x {width} do not fill an image of {rows} x {columns}")
    split = b.Reshape(x, [-1, rows // height, height, columns // width, width, channels])
    windows = b.Reshape(
        b.Transpose(split, [0, 1, 3, 2, 4, 5]),
        [-1, rows // height, columns // width, height * width, channels],
    )
    positions = b.cast(b.ArgMax(windows, 3, output_type=INT32), FLOAT32)
    return [b.Max(windows, [3]).output(0), b.Add(positions, 0.1).output(0)]


@custom("MaxUnpooling2D")
def max_unpooling(b: OperatorBuilder, x: LiteValue, positions: LiteValue) -> Value:
    """Each element at its position in a window of zeros."""
    height, width = _window(b)
    _, rows, columns, channels = _sizes(b, x)
    chosen = b.OneHot(b.cast(positions, INT32), height * width, True, False, axis=3)
    zero = b.const(0.0, FLOAT32)
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
