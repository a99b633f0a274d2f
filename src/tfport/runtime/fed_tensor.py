"""A tensor that runs feed: its type and declared shape, looked up in the graph once per session.

TF1 models feed switches: `is_training`, `keep_prob`. A plan for `is_training=False` has no training
branch, and one for `keep_prob=1.0` no dropout. So a plan is made for each value of a fed boolean, and
for 0 and 1 of a fed floating-point scalar; other values share one plan. `plan_cache` limits their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.engines.gpu.device_array import DeviceArray, from_dlpack, is_elsewhere, on_host
from tfport.runtime.feeds import as_array
from tfport.runtime.operand import Dims
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class FedTensor:
    """Converts and checks the values that are fed to one tensor."""

    __slots__ = ("_kind", "dtype", "name", "shape")

    def __init__(self, name: str, dtype: DType, shape: Shape) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self._kind = _numeric(dtype)

    def array(self, value: ArrayLike, any_shape: bool) -> NDArray[Any]:
        """The value as an array of the tensor's type; RunFailed where type or shape do not match."""
        ready = type(value) is np.ndarray and value.dtype is self._kind
        array: NDArray[Any] = value if ready else self._converted(value)  # type: ignore[assignment]
        if not any_shape and not self.fits(array):
            raise RunFailed(f"`{self.name}` must have shape {self.shape}, got {Shape(array.shape)}")
        return array

    def _converted(self, value: ArrayLike) -> Any:
        """The value as an array on the host, or where it is, if that is the memory of a device."""
        if type(value) is not DeviceArray and not is_elsewhere(value):
            return as_array(value, self.dtype, self.name)
        array = value if type(value) is DeviceArray else from_dlpack(value, self.name)
        return array if array.dtype == self._kind else as_array(array.numpy(), self.dtype, self.name)

    def undeclared_rank(self, array: NDArray[Any]) -> int | None:
        """The rank to plan for; None for an array that has the shape that the tensor declares."""
        return None if self.shape.dims is not None and self.fits(array) else array.ndim

    def special_value(self, array: NDArray[Any]) -> FedValue | None:
        """The value of a fed switch; None for an ordinary input."""
        return None if array.ndim else special_value(self.shape.dims, on_host(array))

    def fits(self, array: NDArray[Any]) -> bool:
        """Whether an array has the shape that the tensor declares."""
        dims, shape = self.shape.dims, array.shape
        if dims is None or dims == shape:
            return True
        if len(dims) != len(shape):
            return False
        for size, actual in zip(dims, shape, strict=True):
            if size is not None and size != actual:
                return False
        return True


def _numeric(dtype: DType) -> np.dtype[Any] | None:
    """The NumPy type of arrays that are fed as they are; None for strings, and for what cannot be fed."""
    try:
        return dtype.numpy if dtype.numpy.kind != "O" else None
    except KeyError:
        return None


@dataclass(frozen=True, slots=True)
class FedValue:
    """A value that a plan treats as constant."""

    value: bool | float


def special_value(declared: Dims | None, array: NDArray[Any]) -> FedValue | None:
    """The value of a fed switch; None for an ordinary input."""
    if array.ndim or declared:
        return None
    if array.dtype.kind == "b":
        return FedValue(bool(array))
    if array.dtype.kind == "f" and array in (0, 1) and not np.signbit(array):
        return FedValue(float(array))
    return None
