"""DecodeImage by the older decoders, chosen by the first bytes of the file.

Releases before 2.4 have a decoder for each format: DecodePng also reads JPEG files, and DecodeBmp
requires the number of channels that the file has, so BMP files are taken apart here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.building.sizes import item, joined, part, scalar
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import Node, Value

UINT8, UINT16 = DType.parse("uint8"), DType.parse("uint16")
PNG, GIF, BMP = b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM"
OPAQUE = 255
BMP_START, BMP_WIDTH, BMP_HEIGHT, BMP_BITS = 10, 18, 22, 28
"""Positions in the header of a BMP file; the bits of a pixel are two bytes, the others four."""


@rule("DecodeImage", keeps=EXACT)
def by_the_first_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """JPEG, PNG, GIF and BMP files are decoded as before; a WebP file is an error in older releases."""
    channels, dtype = int(n.attrs["channels"]), n.outputs[0].dtype.base

    def still(contents: Value) -> Value:
        """A PNG or JPEG, which DecodePng reads to uint8; it reads only a PNG to uint16."""
        jpeg = partial(_of_jpeg, op, channels, dtype)
        return (
            jpeg(contents)
            if dtype == UINT8
            else _branch(op, contents, PNG, partial(_of_png, op, channels, dtype), jpeg)
        )

    def other(contents: Value) -> Value:
        if channels == 1:  # the kernel decodes no BMP to one channel, nor does DecodePng
            return still(contents)
        return _branch(op, contents, BMP, lambda file: _scaled(op, _bmp(op, file, channels), dtype), still)

    def gif(contents: Value) -> Value:
        frames = op.DecodeGif(contents).output(0)
        return _scaled(op, frames if n.attrs["expand_animations"] else item(op, frames, 0), dtype)

    if channels not in (0, 3):  # the kernel decodes no GIF to other channels, nor does DecodePng
        return other(n.inputs[0])
    return _branch(op, n.inputs[0], GIF, gif, other)


def _branch(
    op: RuleBuilder,
    contents: Value,
    magic: bytes,
    on_match: Callable[[Value], Value],
    otherwise: Callable[[Value], Value],
) -> Value:
    """Decode in one way if the file begins with these bytes, and else in another."""
    start = op.Substr(contents, op.const(0, INT32), op.const(len(magic), INT32))
    sent = op.Switch(contents, op.Equal(start, magic))
    return op.Merge([otherwise(sent.output(0)), on_match(sent.output(1))]).output(0)


def _of_jpeg(op: RuleBuilder, channels: int, dtype: DType, contents: Value) -> Value:
    return _scaled(op, op.DecodePng(contents, channels=channels, dtype=UINT8).output(0), dtype)


def _of_png(op: RuleBuilder, channels: int, dtype: DType, contents: Value) -> Value:
    deep = op.DecodePng(contents, channels=channels, dtype=UINT16).output(0)
    return deep if dtype == UINT16 else op.Mul(op.Cast(deep, DstT=FLOAT32), 1 / 65535).output(0)


def _scaled(op: RuleBuilder, picture: Value, dtype: DType) -> Value:
    """Pixels of 8 bits in the dtype of the output."""
    if dtype == FLOAT32:
        return op.Mul(op.Cast(picture, DstT=FLOAT32), 1 / 255).output(0)
    if dtype == UINT16:
        return op.Cast(op.Mul(op.Cast(picture, DstT=INT32), 256), DstT=UINT16).output(0)
    return picture


def _bmp(op: RuleBuilder, contents: Value, channels: int) -> Value:
    """The pixels of a BMP file, which has rows of whole words, usually from the bottom to the top."""
    start, width, height = (_number(op, contents, at, "int32") for at in (BMP_START, BMP_WIDTH, BMP_HEIGHT))
    count = op.FloorDiv(op.Cast(_number(op, contents, BMP_BITS, "int16"), DstT=INT32), 8)
    used = op.Mul(width, count)
    rows = op.Abs(height)
    whole = op.Pack([rows, op.Mul(op.FloorDiv(op.Add(used, 3), 4), 4)])
    file = op.DecodeRaw(contents, out_type=UINT8, little_endian=True)
    data = op.StridedSlice(file, op.Pack([start]), [0], [1], end_mask=1)
    padded = op.Reshape(data, whole)
    pixels = op.Reshape(op.Slice(padded, [0, 0], op.Pack([rows, used])), op.Pack([rows, width, count]))
    is_upward = op.Cast(op.Greater(height, 0), DstT=INT32)
    order = op.Add(
        op.Mul(is_upward, op.Sub(rows, 1)),
        op.Mul(op.Range(0, rows, 1), op.Sub(1, op.Mul(is_upward, 2))),
    )
    return _with_channels(op, op.GatherV2(pixels, order, 0), count, channels)


def _with_channels(op: RuleBuilder, pixels: Node, count: Node, channels: int) -> Value:
    """Blue, green, red and alpha in the usual order; gray as it is, or as three colors."""
    has_colors = op.Cast(op.Greater(count, 1), DstT=INT32)
    if not channels:
        gray_at = op.Mul(op.Sub(1, has_colors), 2)  # of 2, 1, 0 the last, as gray is plane 0
        order = op.StridedSlice([2, 1, 0, 3], op.Pack([gray_at]), op.Pack([op.Add(gray_at, count)]), [1])
        return op.GatherV2(pixels, order, 2).output(0)
    order = op.Mul([2, 1, 0], has_colors)
    if channels == 3:
        return op.GatherV2(pixels, order, 2).output(0)
    plane = joined(op, part(op, op.Shape(pixels), stop=2), [1])
    opaque = op.ConcatV2([pixels, op.Fill(plane, op.const(OPAQUE, UINT8))], 2)
    alpha = op.Add(op.Mul(has_colors, 2), 1)
    return op.GatherV2(opaque, joined(op, order, op.Pack([alpha])), 2).output(0)


def _number(op: RuleBuilder, contents: Value, at: int, name: str) -> Value:
    """A little-endian number in the file."""
    dtype = DType.parse(name)
    piece = op.Substr(contents, op.const(at, INT32), op.const(dtype.numpy.itemsize, INT32))
    return scalar(op, op.DecodeRaw(piece, out_type=dtype, little_endian=True))
