"""Steps that only an exported ONNX file computes by nodes: lookups in tables.

`run` computes them on the host, which is faster and takes any bytes. In a file, a table that never changes is
a LabelEncoder of ONNX's set of ops for classical models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.graph.dtypes import STRING, DType
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import ML
from tfport.runtime.operand import Operand
from tfport.runtime.ops.tables.table import StaticTable
from tfport.runtime.program import OnnxNode, Program, Step
from tfport.startup.dataclass import replace

FINDS = ("LookupTableFind", "LookupTableFindV2")
_ENDS = {"string": "strings", "int64": "int64s", "float32": "floats"}
_DEFAULTS = {"string": "default_string", "int64": "default_int64", "float32": "default_float"}


def lower_exported_steps(program: Program) -> None:
    """Lower what is left of a program that is exported, where that is exact."""
    changed: dict[Step, list[Step]] = {}
    for step in program.steps:
        if step.lowered is None and step.op in FINDS:
            try:
                nodes = _lookup(step)
            except CannotLower as error:
                changed[step] = [replace(step, why=str(error))]
            else:
                changed[step] = [replace(step, lowered=nodes)]
    if changed:
        program.replace(changed)


def _lookup(step: Step) -> list[OnnxNode]:
    handle, keys, default = step.inputs
    table = handle.value
    if not isinstance(table, StaticTable) or not table.filled or table.value_shape or table.key_shape:
        raise CannotLower("its table can change, or its values are no scalars")
    if default.array is None or default.array.size != 1:
        raise CannotLower("its default is not constant")
    if table.key.name not in ("string", "int64") or table.value_type.name not in _ENDS:
        raise CannotLower(f"ONNX has no table from {table.key} to {table.value_type}")
    known, values = table.export()
    attrs: dict[str, Any] = {
        f"keys_{_ENDS[table.key.name]}": _listed(known, table.key),
        f"values_{_ENDS[table.value_type.name]}": _listed(values, table.value_type),
        _DEFAULTS[table.value_type.name]: _listed(default.array.reshape(-1), table.value_type)[0],
    }
    b = Builder(step.name)
    b.added.append(OnnxNode("LabelEncoder", (keys,), step.outputs, attrs, ML))
    return b.added


def _listed(array: Any, dtype: DType) -> list[Any]:
    if dtype != STRING:
        return np.asarray(array).reshape(-1).tolist()
    try:
        return [bytes(text).decode() for text in array.reshape(-1).tolist()]
    except UnicodeDecodeError:
        raise CannotLower("its table has strings that are not UTF-8") from None


def bad_texts(program: Program) -> list[Operand]:
    """The string constants of the nodes that are not UTF-8, which ONNX's strings are."""
    nodes = (node for step in program.steps for node in step.lowered or ())
    constants = {o: None for node in nodes for o in node.inputs if o is not None and o.dtype == STRING}
    return [o for o in constants if o.array is not None and not _is_text(o.array)]


def _is_text(array: Any) -> bool:
    try:
        return all(bytes(text).decode() is not None for text in array.reshape(-1).tolist())
    except UnicodeDecodeError:
        return False
