"""A tensor in the memory of a device, which NumPy and other frameworks can read.

Islands pass such tensors on without a copy. The first reader on the host (`numpy()`, `np.asarray`) copies
the tensor once. PyTorch, JAX and CuPy read it where it is, through DLPack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tfport.errors import Error
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.program import ONNX_TYPES

if TYPE_CHECKING:
    import onnxruntime as ort
    from numpy.typing import NDArray

DLPACK_CPU = 1
"""The number of the host's memory in DLPack."""
_NUMPY = {number: np.dtype(getattr(ml_dtypes, name, name)) for name, number in ONNX_TYPES.items()}


class DeviceArray:
    """A tensor of ONNX Runtime, with the attributes of an array."""

    __slots__ = ("_address", "_host", "dtype", "shape", "value")

    def __init__(self, value: ort.OrtValue, like: DeviceArray | None = None) -> None:
        """`like`: a tensor of the same shape and type, so that ONNX Runtime is not asked for them."""
        self.value = value
        self.shape: tuple[int, ...] = tuple(value.shape()) if like is None else like.shape
        self.dtype: np.dtype[Any] = _NUMPY[value.element_type()] if like is None else like.dtype
        self._host: NDArray[Any] | None = None
        self._address = 0

    @property
    def address(self) -> int:
        """Where it lies in the memory of the device."""
        if not self._address:
            self._address = self.value.data_ptr()
        return self._address

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def numpy(self) -> NDArray[Any]:
        """The tensor on the host; copied once."""
        if self._host is None:
            with GPU_LOCK.running():
                self._host = self.value.numpy()
        return self._host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        return self.value.__dlpack__(stream=options.get("stream"))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.value.__dlpack_device__()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype} {list(self.shape)} on {self.value.device_name()}>"


def on_host(value: Any) -> Any:
    """The value for host code: a device tensor as a NumPy array, anything else as it is."""
    return value.numpy() if type(value) is DeviceArray else value


def all_on_host(values: Sequence[Any]) -> list[Any]:
    return [on_host(value) for value in values]


def is_elsewhere(value: Any) -> bool:
    """Whether a value is an array in the memory of a device, which NumPy cannot read."""
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and type(value) is not np.ndarray and device()[0] != DLPACK_CPU


def from_dlpack(value: Any, name: str) -> DeviceArray:
    """An array of another framework as a device tensor, in the same memory."""
    import onnxruntime as ort

    try:
        return DeviceArray(ort.OrtValue.from_dlpack(value))
    except Exception as error:  # each framework raises its own exceptions
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Error(f"`{name}`: {type(value).__name__} cannot be read through DLPack: {lines[0]}") from None
