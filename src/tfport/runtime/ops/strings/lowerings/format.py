"""Integers written as strings, lowered to ONNX for exported files."""

from __future__ import annotations

from tfport.graph.dtypes import STRING
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.onnx.model import ELEMENT_TYPES


@lower("AsString")
def as_string(b, input, *, precision, scientific, shortest, width, fill):
    if input.dtype.name not in ("int32", "int64"):
        raise CannotLower("ONNX writes other numbers than integers in another form")
    if precision != -1 or scientific or shortest or width > -1 or fill:
        raise CannotLower("ONNX has no width and no precision of numbers")
    return b.nodes("Cast", input, dtype=STRING, to=ELEMENT_TYPES[STRING.name])[0]
