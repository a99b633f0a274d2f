"""A tensor while its graph is built: the value in the graph, and what the file says about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfport.formats.lite.records import LiteTensor, TensorQuantization
from tfport.graph.dtypes import DType
from tfport.graph.graph import Value
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUANTIZED = ("INT8", "UINT8", "INT16", "INT4", "INT2", "UINT4")


@dataclass(frozen=True, slots=True)
class LiteValue:
    """An input of an operator."""

    value: Value
    record: LiteTensor
    load: Callable[[], NDArray[Any]] | None = None
    """Reads the elements of a constant; None for a value that is computed."""

    @property
    def array(self) -> NDArray[Any] | None:
        """The elements of a constant."""
        return None if self.load is None else self.load()

    @property
    def dtype(self) -> DType:
        return self.value.dtype.base

    @property
    def type(self) -> str:
        """As the schema calls it: `INT8`."""
        return self.record.type

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes as the file has them; None where unknown."""
        return self.record.dims

    @property
    def rank(self) -> int:
        return len(self.record.shape)

    @property
    def quantization(self) -> TensorQuantization:
        """Its scales and zero points; empty ones if it has none."""
        return self.record.quantization or TensorQuantization()

    @property
    def is_quantized(self) -> bool:
        """Whether its integers stand for real numbers."""
        return is_quantized(self.record)

    @property
    def scale(self) -> float:
        """The scale of a tensor that is quantized as a whole."""
        return self.quantization.scale[0]

    @property
    def zero_point(self) -> int:
        points = self.quantization.zero_point
        return points[0] if points else 0


def is_quantized(record: LiteTensor) -> bool:
    """Whether the integers of a tensor stand for real numbers."""
    return record.type in QUANTIZED and record.quantization is not None and bool(record.quantization.scale)
