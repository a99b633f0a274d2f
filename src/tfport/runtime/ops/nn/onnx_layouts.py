"""Data layouts and padding for ONNX, which has channels on the second axis.

Padding is constant where the sizes are known. ONNX's SAME_UPPER equals TensorFlow's SAME only
without dilation and for windows not smaller than their stride; it is used for unknown sizes if
both hold. Otherwise the graph computes the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.nn.windows import DataLayout, same_pads


def channels_second(b: Builder, x: Operand, layout: DataLayout) -> Operand:
    """Transpose from the layout of the op to ONNX's.

    An unknown rank is taken for the right one: the engine fails at another, so that the host reports it.
    """
    if x.rank not in (layout.rank, None):
        raise CannotLower(f"the input must have {layout.rank} axes, found {x.rank}")
    return b.transpose(x, (0, layout.channel_axis, *layout.spatial_axes))


def from_channels_second(b: Builder, x: Operand, layout: DataLayout) -> Operand:
    """Transpose from ONNX's layout to that of the op."""
    order = (0, layout.channel_axis, *layout.spatial_axes)
    return b.transpose(x, [order.index(i) for i in range(len(order))])


def with_channels(b: Builder, x: Operand, axis: int, count: int) -> Operand:
    """`x` with a check that it has `count` channels, since ONNX would broadcast other sizes."""
    assert x.shape is not None
    if x.shape[axis] == count:
        return x
    if x.shape[axis] is not None:
        raise CannotLower(f"the input must have {count} channels, found {x.shape[axis]}")
    same = 0  # Reshape keeps the size
    checked = b.Reshape(x, b.ints(*(count if i == axis else same for i in range(len(x.shape)))))
    checked.shape = tuple(count if i == axis else n for i, n in enumerate(x.shape))
    return checked


def spatial_values(layout: DataLayout, values: Sequence[int]) -> list[int]:
    """The values of the spatial axes, of an attribute with a value for each axis."""
    try:
        return list(layout.spatial_values(values))
    except RunFailed as error:
        raise CannotLower(str(error)) from None


def padding_attributes(
    x: Operand,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]],
) -> dict[str, Any] | None:
    """ONNX attributes for the padding of `x` (channels second); None if it depends on unknown sizes."""
    axes = list(zip(_sizes(x, len(kernel)), kernel, strides, dilations, strict=True))
    pads: list[tuple[int, int] | None] = [(0, 0)] * len(kernel)
    if padding == "EXPLICIT":
        pads = list(explicit)
    elif padding == "SAME":
        pads = [_same_pads(*axis) for axis in axes]
    known = [pad for pad in pads if pad is not None]
    if len(known) == len(pads):
        return {"pads": [before for before, _ in known] + [after for _, after in known]}
    if all(d == 1 and k >= s for _, k, s, d in axes):
        return {"auto_pad": "SAME_UPPER"}
    return None


def _sizes(x: Operand, count: int) -> Dims:
    return (None,) * count if x.shape is None else x.shape[2:]


def _same_pads(size: int | None, kernel: int, stride: int, dilation: int) -> tuple[int, int] | None:
    """SAME padding of an axis; None if it depends on an unknown size."""
    if size is not None:
        return same_pads(size, kernel, stride, dilation)
    if stride == 1:
        return same_pads(1, kernel, 1, dilation)
    return (0, 0) if kernel == 1 else None


def pad_same(
    b: Builder,
    x: Operand,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    value: float = 0,
) -> Operand:
    """`x` (channels second) with SAME padding that the graph computes from its sizes."""
    sizes = b.Shape(x, start=2)
    stride = b.ints(*strides)
    count = b.Div(b.Add(sizes, b.ints(*(s - 1 for s in strides))), stride)
    overlap = b.ints(*((k - 1) * d + 1 - s for k, s, d in zip(kernel, strides, dilations, strict=True)))
    zero = b.ints(0)
    total = b.Max(b.Sub(b.Add(b.Mul(count, stride), overlap), sizes), zero)
    before = b.Div(total, b.ints(2))
    none = b.ints(0, 0)
    pads = b.Concat(none, before, none, b.Sub(total, before), axis=0)
    return b.Pad(x, pads, b.const(value, x.dtype))
