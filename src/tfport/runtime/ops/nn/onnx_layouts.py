"""Layouts and padding as ONNX wants them: channels second, and padding in numbers where that can be known.

ONNX's own SAME_UPPER is TensorFlow's SAME only without dilation and where a window is not
smaller than its stride, so it is used where sizes are unknown and both hold. Else the
padding is computed in the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.lower import CannotLower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.nn.windows import Layout, same_pads


def channels_second(b: Builder, x: Operand, layout: Layout) -> Operand:
    if rank_of(x) != len(layout.text):
        raise CannotLower(f"its input has {x.rank} axes")
    return b.transpose(x, (0, layout.channel, *layout.space))


def from_channels_second(b: Builder, x: Operand, layout: Layout) -> Operand:
    order = (0, layout.channel, *layout.space)
    return b.transpose(x, [order.index(i) for i in range(len(order))])


def with_channels(b: Builder, x: Operand, axis: int, count: int) -> Operand:
    """`x` once it is sure to have this many channels, where ONNX would stretch what does not fit."""
    assert x.shape is not None
    if x.shape[axis] == count:
        return x
    if x.shape[axis] is not None:
        raise CannotLower(f"{count} do not fit {x.shape[axis]} channels")
    same = 0  # to Reshape, a size that stays
    checked = b.Reshape(x, b.ints(*(count if i == axis else same for i in range(len(x.shape)))))
    checked.shape = tuple(count if i == axis else n for i, n in enumerate(x.shape))
    return checked


def spatial(layout: Layout, values: Sequence[int]) -> list[int]:
    """The spatial ones of an attribute with a number for each axis."""
    try:
        return list(layout.spatial(values))
    except RunFailed as error:
        raise CannotLower(str(error)) from None


def padding_of(
    x: Operand,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]],
) -> dict[str, Any] | None:
    """Attributes that say the padding of `x` (channels second); None where only a run can compute it."""
    each = list(zip(_sizes(x, len(kernel)), kernel, strides, dilations, strict=True))
    pads: list[tuple[int, int] | None] = [(0, 0)] * len(kernel)
    if padding == "EXPLICIT":
        pads = list(explicit)
    elif padding == "SAME":
        pads = [_same(*one) for one in each]
    known = [pad for pad in pads if pad is not None]
    if len(known) == len(pads):
        return {"pads": [before for before, _ in known] + [after for _, after in known]}
    if all(d == 1 and k >= s for _, k, s, d in each):
        return {"auto_pad": "SAME_UPPER"}
    return None


def _sizes(x: Operand, count: int) -> Dims:
    return (None,) * count if x.shape is None else x.shape[2:]


def _same(size: int | None, kernel: int, stride: int, dilation: int) -> tuple[int, int] | None:
    """SAME padding along an axis, where its size is known or does not matter."""
    if size is not None:
        return same_pads(size, kernel, stride, dilation)
    if stride == 1:
        return same_pads(1, kernel, 1, dilation)
    return (0, 0) if kernel == 1 else None


def pad_by_size(
    b: Builder,
    x: Operand,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    value: float = 0,
) -> Operand:
    """`x` (channels second) with SAME padding that is computed in the graph from its sizes."""
    sizes = b.Shape(x, start=2)
    stride = b.ints(*strides)
    count = b.Div(b.Add(sizes, b.ints(*(s - 1 for s in strides))), stride)
    reach = b.ints(*((k - 1) * d + 1 - s for k, s, d in zip(kernel, strides, dilations, strict=True)))
    zero = b.ints(0)
    total = b.Max(b.Sub(b.Add(b.Mul(count, stride), reach), sizes), zero)
    before = b.Div(total, b.ints(2))
    none = b.ints(0, 0)
    pads = b.Concat(none, before, none, b.Sub(total, before), axis=0)
    return b.Pad(x, pads, b.const(value, x.dtype))
