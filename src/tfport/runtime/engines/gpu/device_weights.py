"""Weights in device memory, uploaded once for all islands of a session.

ONNX Runtime reads the copy on the host while it optimizes a model, and then uses the tensor on the device in
place of a copy of its own. A weight that it transforms, such as to another layout, belongs to one island.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import onnxruntime as ort

from tfport.runtime.engines.session_settings import share, to_share

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Uploaded(NamedTuple):
    array: weakref.ref[NDArray[Any]]
    owner: ort.OrtValue
    borrowed: ort.OrtValue
    """The same memory; a session takes only tensors that do not own theirs."""


class DeviceWeights:
    """The weights of a session on one device."""

    def __init__(self, memory: str, index: int) -> None:
        self._memory, self._index = memory, index
        self._uploaded: dict[int, _Uploaded] = {}

    def use(self, options: ort.SessionOptions, weights: Mapping[str, NDArray[Any]]) -> list[Any]:
        """Make a session use the weights; returns what must live as long as the session."""
        on_host = to_share(weights)
        share(options, on_host)
        kept: list[Any] = [on_host]
        for name, array in weights.items():
            uploaded = self._upload(array)
            if uploaded is not None:
                options.add_initializer(name, uploaded.borrowed)
                kept.append(uploaded)
        return kept

    def missing_bytes(self, weights: Mapping[str, NDArray[Any]]) -> int:
        """The size of the weights that are not on the device yet."""
        arrays = {id(array): array for array in weights.values()}
        return sum(array.nbytes for array in arrays.values() if not self._has(array))

    @property
    def uploaded_bytes(self) -> int:
        arrays = (known.array() for known in self._uploaded.values())
        return sum(array.nbytes for array in arrays if array is not None)

    def _has(self, array: NDArray[Any]) -> bool:
        known = self._uploaded.get(id(array))
        return known is not None and known.array() is array

    def _upload(self, array: NDArray[Any]) -> _Uploaded | None:
        if self._memory == "cpu" or array.dtype.name == "bfloat16":
            return None
        known = self._uploaded.get(id(array))
        if known is None or known.array() is not array:
            owner = ort.OrtValue.ortvalue_from_numpy(array, self._memory, self._index)
            known = _Uploaded(weakref.ref(array), owner, ort.OrtValue.from_dlpack(owner))
            self._uploaded[id(array)] = known
        return known
