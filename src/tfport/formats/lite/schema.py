"""The schemas of TensorFlow Lite files and of their metadata: tables with their fields, enums and unions.

The data is `schema.json`, written by `tools/atlas/lite_schema.py` from LiteRT's own schema, which only
grows: a file of any older version has a part of its fields. `metadata_schema.json` has the description of
a model for people and tools that many files carry (TensorFlow Lite Support, version 1.1.0).
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from tfport.startup.dataclass import dataclass

SCALARS = {
    "bool": "?", "byte": "b", "ubyte": "B", "utype": "B", "short": "h", "ushort": "H", "int": "i",
    "int32": "i", "uint": "I", "long": "q", "ulong": "Q", "float": "f", "double": "d",
}  # fmt: skip
"""The `struct` code of each scalar type."""


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum: its scalar type, and its names in both directions."""

    code: str
    numbers: dict[str, int]
    names: dict[int, str]


@dataclass(frozen=True, slots=True)
class TableField:
    """A field of a table."""

    name: str
    kind: str
    """`scalar`, `enum`, `string`, `table`, `union`, or a vector: `scalars`, `strings`, `tables`."""
    type: str
    """The name of the scalar, enum, union or table; for a vector, that of its elements."""
    default: Any
    """For an enum its name."""
    code: str = ""
    """The `struct` code of a scalar, an enum, or the elements of a vector."""


@dataclass(frozen=True, slots=True)
class Schema:
    """All types of a file."""

    enums: dict[str, Enum]
    unions: dict[str, list[str]]
    tables: dict[str, tuple[TableField, ...]]
    """The fields in the order of their slots."""


@functools.cache
def lite_schema() -> Schema:
    """The newest schema of files that is known."""
    return _read("schema.json")


@functools.cache
def metadata_schema() -> Schema:
    """The schema of the metadata that TensorFlow Lite Support writes."""
    return _read("metadata_schema.json")


def _read(name: str) -> Schema:
    data = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    enums = {
        name: Enum(SCALARS[base], numbers, {n: text for text, n in reversed(numbers.items())})
        for name, (base, numbers) in data["enums"].items()
    }
    unions: dict[str, list[str]] = data["unions"]
    tables = {
        table: tuple(_field(name, type_name, default, enums, unions) for name, type_name, default in fields)
        for table, fields in data["tables"].items()
    }
    return Schema(enums, unions, tables)


def _field(
    name: str, type_name: str, default: Any, enums: dict[str, Enum], unions: dict[str, list[str]]
) -> TableField:
    if type_name.startswith("["):
        element = type_name[1:-1]
        if element == "string":
            return TableField(name, "strings", element, None)
        code = enums[element].code if element in enums else SCALARS.get(element, "")
        return TableField(name, "scalars" if code else "tables", element, None, code)
    if type_name in enums:
        enum = enums[type_name]
        return TableField(name, "enum", type_name, enum.names.get(default, default), enum.code)
    if type_name in SCALARS:
        return TableField(name, "scalar", type_name, default, SCALARS[type_name])
    if type_name == "string":
        return TableField(name, "string", type_name, None)
    return TableField(name, "union" if type_name in unions else "table", type_name, None)
