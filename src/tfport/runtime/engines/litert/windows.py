"""The windows of a convolution or pooling over an image of known sizes, and their padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.engines.litert.island_node import IslandNode, NotInLite
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LiteWindows:
    """Sizes, steps and paddings for the rows and the columns of an image."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]]
    is_same: bool
    """Whether the padding is what TensorFlow calls SAME."""
    results: tuple[int, int]
    """The sizes of the result."""

    @property
    def is_valid(self) -> bool:
        return not any(map(any, self.pads))

    @property
    def padding(self) -> str:
        return "SAME" if self.is_same and not self.is_valid else "VALID"

    @property
    def steps(self) -> dict[str, Any]:
        """The options of every operator with windows."""
        return {"padding": self.padding, "stride_h": self.strides[0], "stride_w": self.strides[1]}


def lite_windows(node: IslandNode, image: tuple[int, int], kernel: Sequence[int]) -> LiteWindows:
    """The windows of a node over an image; one with a single axis is an image of one row."""
    count = len(kernel)
    if count not in (1, 2) or node.attrs.get("ceil_mode"):
        raise NotInLite(f"{node.op} over {count} axes or with windows that are not full")
    sizes = _pair(kernel, 1)
    strides = _pair(node.attrs.get("strides") or [1] * count, 1)
    dilations = _pair(node.attrs.get("dilations") or [1] * count, 1)
    same = [_same_pads(*axis) for axis in zip(image, sizes, strides, dilations, strict=True)]
    match node.attrs.get("auto_pad", "NOTSET"):
        case "SAME_UPPER":
            pads = same
        case "NOTSET" | "VALID":
            stated = node.attrs.get("pads") or [0] * 2 * count
            before, after = _pair(stated[:count], 0), _pair(stated[count:], 0)
            pads = list(zip(before, after, strict=True))
        case other:
            raise NotInLite(f"{node.op} with the padding {other}")
    results = [
        (size + sum(pad) - dilation * (length - 1) - 1) // stride + 1
        for size, length, stride, dilation, pad in zip(image, sizes, strides, dilations, pads, strict=True)
    ]
    if min(results) < 1 or min(map(min, pads)) < 0:
        raise NotInLite(f"{node.op} with windows that do not fit")
    is_same = pads == same
    return LiteWindows(sizes, strides, dilations, (pads[0], pads[1]), is_same, (results[0], results[1]))


def _pair(values: Sequence[int], filler: int) -> tuple[int, int]:
    return (int(values[0]), int(values[1])) if len(values) == 2 else (filler, int(values[0]))


def _same_pads(size: int, length: int, stride: int, dilation: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + dilation * (length - 1) + 1 - size, 0)
    return total // 2, total - total // 2
