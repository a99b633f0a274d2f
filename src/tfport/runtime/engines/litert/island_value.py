"""A value of an island while it is translated: a tensor whose axes may lie in another order, or a constant.

ONNX has the channels of an image second, XNNPACK last. So a tensor remembers in which order its axes lie, and
a transposition changes only that; operators that move data are written where an order is required.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NotInLite(Error):
    """A node, or how it is used, cannot be said in TensorFlow Lite."""


@dataclass(frozen=True, slots=True, eq=False)
class IslandValue:
    """What a name of an ONNX model stands for."""

    sizes: tuple[int, ...]
    """In ONNX's order of the axes."""
    tensor: int = -1
    order: tuple[int, ...] = ()
    """The axes as they lie in the tensor."""
    array: NDArray[Any] | None = None
    """The elements of a constant, which has no tensor yet."""
    dtype: str = "float32"

    @property
    def elements(self) -> int:
        return math.prod(self.sizes)

    def constant(self) -> NDArray[Any]:
        """The elements, which must be known."""
        if self.array is None:
            raise NotInLite("an input must be constant")
        return self.array

    def place(self, axis: int) -> int:
        """Where an axis lies in the tensor."""
        return self.order.index(axis % len(self.sizes))


def constant_value(array: NDArray[Any]) -> IslandValue:
    return IslandValue(array.shape, array=array, dtype=array.dtype.name)


def plain_order(sizes: Sequence[int]) -> tuple[int, ...]:
    """The order of ONNX."""
    return tuple(range(len(sizes)))


def channels_last(sizes: Sequence[int]) -> tuple[int, ...]:
    """The order in which the second axis lies last."""
    return (0, *range(2, len(sizes)), 1)
