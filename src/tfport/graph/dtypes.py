"""Element types and their names: `float32` in tfport and Python, `DT_FLOAT` in TensorFlow's files.

A reference type (`float32_ref`, the memory of a TF1 variable) has the number of its base type plus 100.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfport.formats.proto import graph_pb2 as pb

if TYPE_CHECKING:
    import numpy as np

_REF = 100
_PYTHON_NAMES = {"FLOAT": "float32", "DOUBLE": "float64", "HALF": "float16"}
_NUMPY: dict[int, np.dtype[Any]] = {}
"""The NumPy types that were asked for: the table of all of them is imported at its first use."""
_FLOATS = ("float", "bfloat", "half", "double")


class DType:
    """An element type. Types with equal numbers are equal; `DType.of` and `DType.parse` create them."""

    __slots__ = ("is_ref", "name", "number")

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.is_ref = number > _REF

    @staticmethod
    def of(number: int) -> DType:
        """The type with this DataType number; an unknown one is called `type99`."""
        return _BY_NUMBER.get(number) or DType(number, f"type{number}")

    @staticmethod
    def parse(text: str) -> DType:
        """The type with the name `float32`, `float`, `DT_FLOAT` or `type99`; KeyError if it is unknown."""
        number = text.removeprefix("type")
        if number != text and number.isascii() and number.isdecimal() and len(number) < 10:
            return DType.of(int(number))
        return _BY_NAME[text]

    @property
    def tf(self) -> str:
        """The name in TensorFlow's files and messages: `DT_FLOAT`."""
        known = pb.DataType.values()
        return pb.DataType.Name(self.number) if self.number in known else str(self.number)

    @property
    def base(self) -> DType:
        """The type that a reference type refers to; for any other type, itself."""
        return DType.of(self.number - _REF) if self.is_ref else self

    @property
    def ref(self) -> DType:
        """The reference type to this type."""
        return self if self.is_ref else DType.of(self.number + _REF)

    @property
    def is_integer(self) -> bool:
        return self.base.name.startswith(("int", "uint"))

    @property
    def is_floating(self) -> bool:
        return self.base.name.startswith(_FLOATS)

    @property
    def is_complex(self) -> bool:
        return self.base.name.startswith("complex")

    @property
    def is_quantized(self) -> bool:
        return self.base.name.startswith(("qint", "quint"))

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type; KeyError for `resource` and `variant`, which have none."""
        dtype = _NUMPY.get(self.number)
        if dtype is None:
            from tfport.formats.encoding.tensor import NUMPY

            dtype = _NUMPY[self.number] = NUMPY[self.base.number]
        return dtype

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DType) and other.number == self.number)

    def __hash__(self) -> int:
        return hash((DType, self.number))

    def __repr__(self) -> str:
        return self.name


def _python_name(tf_name: str) -> str:
    base = tf_name.removeprefix("DT_").removesuffix("_REF")
    ref = "_ref" if tf_name.endswith("_REF") else ""
    return _PYTHON_NAMES.get(base, base.lower()) + ref


_BY_NUMBER = {number: DType(number, _python_name(name)) for name, number in pb.DataType.items()}
_BY_NAME = {
    name: dtype
    for tf_name, number in pb.DataType.items()
    for dtype in [_BY_NUMBER[number]]
    for name in (dtype.name, tf_name, tf_name.removeprefix("DT_").lower())
}

INVALID = DType.of(pb.DT_INVALID)
FLOAT32 = DType.of(pb.DT_FLOAT)
INT32 = DType.of(pb.DT_INT32)
INT64 = DType.of(pb.DT_INT64)
STRING = DType.of(pb.DT_STRING)
BOOL = DType.of(pb.DT_BOOL)
RESOURCE = DType.of(pb.DT_RESOURCE)
VARIANT = DType.of(pb.DT_VARIANT)
