"""A TensorList as the host has it: a value, never changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.operand import Dims


class TensorList:
    """Elements of one type; one that is unset is None, and counts as zeros where its shape is known."""

    __slots__ = ("dtype", "items", "shape", "written_once")

    def __init__(
        self, items: list[Any], shape: Dims | None, dtype: DType, *, written_once: bool = False
    ) -> None:
        self.items, self.shape, self.dtype = items, shape, dtype
        self.written_once = written_once
        """TensorArrays take each element once."""

    def __len__(self) -> int:
        return len(self.items)

    def with_items(self, items: list[Any]) -> TensorList:
        return TensorList(items, self.shape, self.dtype, written_once=self.written_once)

    def get(self, index: int, shape: Dims | None) -> Any:
        """An element, or zeros for one that is unset."""
        self._within(index)
        item = self.items[index]
        if item is None:
            return self.zeros(merged(self.shape, shape), "read an element that is unset")
        if isinstance(item, np.ndarray) and not fits(item.shape, shape):
            raise RunFailed(f"the element has shape {item.shape}, not {shown(shape)}")
        return item

    def set(self, index: int, item: Any, *, resize: bool = False) -> TensorList:
        """A list with another element at a place."""
        if isinstance(item, np.ndarray) and not fits(item.shape, self.shape):
            raise RunFailed(f"an element of shape {item.shape} in a list of {shown(self.shape)}")
        items = list(self.items)
        if resize and index >= len(items):
            items += [None] * (index + 1 - len(items))
        else:
            self._within(index)
        if self.written_once and items[index] is not None:
            raise RunFailed(f"element {index} is written twice")
        items[index] = item
        return self.with_items(items)

    def stack(self, shape: Dims | None) -> NDArray[Any]:
        """All elements as the rows of one tensor."""
        return self.rows(range(len(self.items)), shape)

    def rows(self, places: Sequence[int], shape: Dims | None) -> NDArray[Any]:
        """Some elements as the rows of one tensor."""
        element = merged(self.shape, shape)
        for place in places:
            self._within(place)
        items = [self.items[place] for place in places]
        for item in items:
            if item is not None:
                element = merged(element, item.shape)
        if not items or any(item is None for item in items):
            blank = self.zeros(element, "stacked elements that are unset")
            items = [blank if item is None else item for item in items]
            if not items:
                return np.zeros((0, *blank.shape), blank.dtype)
        return np.stack(items)

    def zeros(self, shape: Dims | None, what: str) -> NDArray[Any]:
        if shape is None or None in shape:
            raise RunFailed(f"{what}, and their shape is not known: {shown(shape)}")
        sizes = tuple(size or 0 for size in shape)
        if self.dtype.name == "string":
            return np.full(sizes, b"", object)
        return np.zeros(sizes, self.dtype.numpy)

    def _within(self, index: int) -> None:
        if not 0 <= index < len(self.items):
            raise RunFailed(f"there is no element {index} in a list of {len(self.items)}")


def rows_of_tensor(tensor: NDArray[Any]) -> list[NDArray[Any]]:
    """The rows of a tensor; those of a vector are scalars, and still arrays."""
    return [tensor[i : i + 1].reshape(tensor.shape[1:]) for i in range(len(tensor))]


def shape_from(array: Any) -> Dims | None:
    """An element shape as ops are given it: -1 for a size or, alone, for a rank that is not known."""
    sizes = np.asarray(array)
    if sizes.ndim == 0:
        if sizes != -1:
            raise RunFailed(f"expected -1 for an unknown element shape, found {sizes}")
        return None
    return tuple(None if size < 0 else int(size) for size in sizes)


def fits(shape: Dims | None, other: Dims | None) -> bool:
    if shape is None or other is None:
        return True
    return len(shape) == len(other) and all(
        a == b or a is None or b is None for a, b in zip(shape, other, strict=True)
    )


def merged(shape: Dims | None, other: Dims | None) -> Dims | None:
    """What two shapes of one element say together, or an error where they differ."""
    if not fits(shape, other):
        raise RunFailed(f"elements of shapes {shown(shape)} and {shown(other)} in one list")
    if shape is None or other is None:
        return other if shape is None else shape
    return tuple(b if a is None else a for a, b in zip(shape, other, strict=True))


def shown(shape: Dims | None) -> str:
    return "unknown" if shape is None else str(tuple("?" if size is None else size for size in shape))
