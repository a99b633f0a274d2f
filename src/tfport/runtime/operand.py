"""What flows between steps while a plan is made: a type, a shape and, where it is known, the value."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Dims = tuple[int | None, ...]
"""Sizes of a shape, as far as they are known."""
_numbers = itertools.count(1)


class Operand:
    """One tensor (or resource, or variant) of a program that is being planned.

    `shape` is None where not even the rank is known. `value` is the array that it
    always is, or the resource that a handle always names; None where only a run tells.
    `known` are the elements of a small vector or scalar of integers as far as they are
    known: that is how shapes that depend on a batch are followed.
    """

    __slots__ = ("dtype", "known", "name", "shape", "value")

    def __init__(
        self, dtype: DType, shape: Sequence[int | None] | None = None, *, value: Any = None, name: str = ""
    ) -> None:
        self.dtype = dtype
        self.value = value
        if isinstance(value, np.ndarray):
            shape = value.shape
        self.shape: Dims | None = None if shape is None else tuple(shape)
        self.name = f"{name or 'v'}#{next(_numbers)}"
        self.known: Dims | None = None
        if isinstance(value, np.ndarray) and value.ndim < 2 and value.dtype.kind in "iu" and value.size < 64:
            self.known = tuple(int(n) for n in value.reshape(-1))

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_constant(self) -> bool:
        return self.value is not None

    @property
    def array(self) -> NDArray[Any] | None:
        """The constant array that it is, where it is one."""
        return self.value if isinstance(self.value, np.ndarray) else None

    def __repr__(self) -> str:
        return f"<Operand {self.name} {self.dtype} {self.shape}{' constant' if self.is_constant else ''}>"
