"""TensorList, the value of a list of tensors on the host. It is immutable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.runtime.bounds.run_scope import reserve_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.runtime.operand import Dims


POINTER = 8
"""Bytes per element of a Python list."""
VIEW = 192
"""Bytes of an array without its elements."""


class TensorList:
    """Elements of one dtype. An unset element is None; it reads as zeros if its shape is known."""

    __slots__ = ("dtype", "items", "shape", "written_once")

    def __init__(
        self, items: list[Any], shape: Dims | None, dtype: DType, *, written_once: bool = False
    ) -> None:
        self.items, self.shape, self.dtype = items, shape, dtype
        self.written_once = written_once
        """Whether each element may be set only once, as in TensorArrays."""

    def __len__(self) -> int:
        return len(self.items)

    @property
    def own_bytes(self) -> int:
        """About the memory of its elements, from the first and the last one."""
        ends = (self.items[0], self.items[-1]) if self.items else ()
        return len(self.items) * (POINTER + max((getattr(item, "nbytes", 0) for item in ends), default=0))

    def with_items(self, items: list[Any]) -> TensorList:
        return TensorList(items, self.shape, self.dtype, written_once=self.written_once)

    def get(self, index: int, shape: Dims | None) -> Any:
        """An element; zeros if it is unset."""
        self._check_index(index)
        item = self.items[index]
        if item is None:
            return self.zeros(merged(self.shape, shape), "an unset element was read")
        if isinstance(item, np.ndarray) and not is_compatible(item.shape, shape):
            raise RunFailed(f"expected an element of shape {shape_text(shape)}, found {item.shape}")
        return item

    def set(self, index: int, item: Any, *, resize: bool = False) -> TensorList:
        """A copy of the list with one element replaced."""
        if isinstance(item, np.ndarray) and not is_compatible(item.shape, self.shape):
            raise RunFailed(f"elements must have shape {shape_text(self.shape)}, found {item.shape}")
        items = list(self.items)
        if resize and index >= len(items):
            items += [None] * (index + 1 - len(items))
        else:
            self._check_index(index)
        if self.written_once and items[index] is not None:
            raise RunFailed(f"element {index} must be written only once")
        items[index] = item
        return self.with_items(items)

    def stack(self, shape: Dims | None) -> NDArray[Any]:
        """All elements as the rows of one tensor."""
        return self.rows(range(len(self.items)), shape)

    def rows(self, indices: Sequence[int], shape: Dims | None) -> NDArray[Any]:
        """Some elements as the rows of one tensor."""
        element = merged(self.shape, shape)
        for index in indices:
            self._check_index(index)
        items = [_as_array(self.items[index]) for index in indices]
        for item in items:
            if item is not None:
                element = merged(element, item.shape)
        if not items or any(item is None for item in items):
            blank = self.zeros(element, "unset elements were stacked")
            items = [blank if item is None else item for item in items]
            if not items:
                return np.zeros((0, *blank.shape), blank.dtype)
        reserve_memory(len(items) * items[0].nbytes, len(items) * VIEW)
        return np.stack(items)

    def zeros(self, shape: Dims | None, what: str) -> NDArray[Any]:
        if shape is None or None in shape:
            raise RunFailed(f"{what}, but the element shape is not fully known: {shape_text(shape)}")
        sizes = tuple(size or 0 for size in shape)
        if self.dtype.name in ("string", "variant"):
            return np.full(sizes, b"" if self.dtype.name == "string" else None, object)
        return np.zeros(sizes, self.dtype.numpy)

    def _check_index(self, index: int) -> None:
        if not 0 <= index < len(self.items):
            raise RunFailed(f"index {index} is out of range for a list of {len(self.items)} elements")


def rows_of_tensor(tensor: NDArray[Any]) -> list[NDArray[Any]]:
    """The rows of a tensor as arrays; the rows of a vector are arrays of rank 0."""
    return [tensor[i : i + 1].reshape(tensor.shape[1:]) for i in range(len(tensor))]


def shape_from(array: Any) -> Dims | None:
    """The element shape from an op input: -1 is an unknown size, a scalar -1 an unknown rank."""
    sizes = np.asarray(array)
    if sizes.ndim == 0:
        if sizes != -1:
            raise RunFailed(f"a scalar element_shape must be -1 (unknown), found {sizes}")
        return None
    return tuple(None if size < 0 else int(size) for size in sizes)


def is_compatible(shape: Dims | None, other: Dims | None) -> bool:
    if shape is None or other is None:
        return True
    return len(shape) == len(other) and all(
        a == b or a is None or b is None for a, b in zip(shape, other, strict=True)
    )


def merged(shape: Dims | None, other: Dims | None) -> Dims | None:
    """The shape that two partial shapes give together; an error if they are incompatible."""
    if not is_compatible(shape, other):
        raise RunFailed(
            f"elements of a list must have equal shapes, found {shape_text(shape)} and {shape_text(other)}"
        )
    if shape is None or other is None:
        return other if shape is None else shape
    return tuple(b if a is None else a for a, b in zip(shape, other, strict=True))


def shape_text(shape: Dims | None) -> str:
    return "unknown" if shape is None else str(tuple("?" if size is None else size for size in shape))


def _as_array(item: Any) -> Any:
    """An element as an array: a single variant is an object without a shape."""
    if item is None or isinstance(item, np.ndarray | np.generic):
        return item
    array = np.empty((), object)
    array[()] = item
    return array
