"""Collects the tensors, constants and operators of a TensorFlow Lite model with fixed sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.lite.records import LiteFile, LiteOperator, LiteTensor, OperatorCode, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.write import lite_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA_VERSION = 3
TYPES = {"float32": "FLOAT32", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "bool": "BOOL"}


class LiteModelWriter:
    """A model of one subgraph."""

    def __init__(self) -> None:
        self._numbers = lite_schema().enums["BuiltinOperator"].numbers
        self._tensors: list[LiteTensor] = []
        self._operators: list[LiteOperator] = []
        self._buffers: list[bytes | memoryview] = [b""]

    def tensor(self, sizes: Sequence[int], dtype: str, buffer: int = 0) -> int:
        number = len(self._tensors)
        self._tensors.append(LiteTensor(f"{number}", TYPES[dtype], tuple(map(int, sizes)), buffer))
        return number

    def constant(self, array: NDArray[Any]) -> int:
        data = np.ascontiguousarray(array)
        self._buffers.append(data.reshape(-1).data.cast("B"))
        return self.tensor(array.shape, data.dtype.name, len(self._buffers) - 1)

    def operator(
        self,
        op: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options_type: str,
        options: dict[str, Any],
    ) -> None:
        code = OperatorCode(op, self._numbers[op])
        self._operators.append(LiteOperator(code, tuple(inputs), tuple(outputs), options, options_type))

    def bytes(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file."""
        graph = Subgraph("main", self._tensors, self._operators, tuple(inputs), tuple(outputs))
        return lite_bytes(LiteFile("", SCHEMA_VERSION, "", [], [graph], [], self._buffers, []))
