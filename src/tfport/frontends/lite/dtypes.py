"""The types of TensorFlow Lite as element types of a graph."""

from __future__ import annotations

from tfport.graph.dtypes import DType

NAMES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT32": "int32", "UINT8": "uint8", "INT64": "int64",
    "STRING": "string", "BOOL": "bool", "INT16": "int16", "COMPLEX64": "complex64", "INT8": "int8",
    "FLOAT64": "float64", "COMPLEX128": "complex128", "UINT64": "uint64", "RESOURCE": "resource",
    "VARIANT": "variant", "UINT32": "uint32", "UINT16": "uint16", "BFLOAT16": "bfloat16",
    # narrower integers are stored in packed form and computed in bytes
    "INT4": "int8", "INT2": "int8", "UINT4": "uint8",
    "FLOAT8_E4M3FN": "float8_e4m3fn", "FLOAT8_E5M2": "float8_e5m2",
}  # fmt: skip
BITS = {"INT4": 4, "UINT4": 4, "INT2": 2}
"""The types of which a byte has several elements."""


def lite_dtype(name: str) -> DType | None:
    """The element type of a graph for a type of the schema; None for an unknown one."""
    return DType.parse(NAMES[name]) if name in NAMES else None
