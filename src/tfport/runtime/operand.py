"""Operands: the tensors of a program while it is planned, with type, shape and constant value."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

Dims = tuple[int | None, ...]
"""The sizes of a shape; None for an unknown size."""
SMALL = 1024
"""Constants of at most this many bytes are compared by value."""
_numbers = itertools.count(1)


class Operand:
    """One tensor (or resource, or variant) of a program that is being planned.

    `shape` is None where the rank is unknown. `value` is the constant array, or the resource of a
    handle; None where it is not constant. `known` are the elements of a small integer vector or
    scalar, None for unknown ones: so shapes that depend on the batch size are propagated. `never_negative`:
    its elements are integers of 0 or more, whatever the model is fed.
    """

    __slots__ = ("dtype", "known", "name", "never_negative", "shape", "value")

    def __init__(
        self, dtype: DType, shape: Sequence[int | None] | None = None, *, value: Any = None, name: str = ""
    ) -> None:
        self.dtype = dtype
        self.value = value
        self.shape: Dims | None
        self.name = f"{name or 'v'}#{next(_numbers)}"
        self.known: Dims | None = None
        self.never_negative = False
        if isinstance(value, np.ndarray):
            self.shape = value.shape
            if value.ndim < 2 and value.dtype.kind in "iu" and value.size < 64:
                self.known = tuple(value.reshape(-1).tolist())
        else:
            self.shape = None if shape is None else tuple(shape)

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_constant(self) -> bool:
        return self.value is not None

    @property
    def array(self) -> NDArray[Any] | None:
        """The constant array; None if it is not one."""
        return self.value if isinstance(self.value, np.ndarray) else None

    def __repr__(self) -> str:
        return f"<Operand {self.name} {self.dtype} {self.shape}{' constant' if self.is_constant else ''}>"


def operand_key(operand: Operand) -> Hashable:
    """Equal for the same operand, and for small constants of the same value."""
    array = operand.array
    if array is None:
        return operand
    if array.dtype.kind == "O":
        texts = array.reshape(-1)
        small = array.size <= 1 and all(isinstance(text, bytes) and len(text) <= SMALL for text in texts)
        return (operand.dtype, array.shape, tuple(texts)) if small else id(array)
    return (operand.dtype, array.shape, array.tobytes()) if array.nbytes <= SMALL else id(array)
