"""Variables and hash tables, which keep their content from one call to the next."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.ops.control import as_scalar
from tfport.frontends.lite.quantized_value import unsigned
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.variables import variable_key
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value
from tfport.graph.shapes import Shape

STORED = {"INT8": "UINT8"}
"""How variables are kept: bytes as activations are, so that nothing is converted where these are read."""


@builtin("VAR_HANDLE")
def var_handle(b: OperatorBuilder, *, container: str = "", shared_name: str = "") -> Node:
    kind = STORED.get(kind := b.graph.file.variables.get(variable_key(b.operator), "FLOAT32"), kind)
    name = "/".join(part for part in (container, shared_name) if part) or "variable"
    return b.VarHandleOp(container="", shared_name=name, dtype=b.dtype(kind), shape=Shape(None))


@builtin("READ_VARIABLE", any_type=True)
def read_variable(b: OperatorBuilder, handle: LiteValue) -> Node:
    kind = b.outputs[0].type
    value = b.effect("ReadVariableOp", handle, dtype=b.dtype(STORED.get(kind, kind)))
    return b.LiteSigned(value) if kind in STORED else value


@builtin("ASSIGN_VARIABLE", any_type=True)
def assign_variable(b: OperatorBuilder, handle: LiteValue, value: LiteValue) -> None:
    b.effect("AssignVariableOp", handle, unsigned(b, value) if value.record.type in STORED else value)


@builtin("HASHTABLE")
def hash_table(b: OperatorBuilder, *, table_id: int, key_dtype: str, value_dtype: str) -> Node:
    return b.HashTableV2(
        shared_name=f"table_{table_id}", key_dtype=b.dtype(key_dtype), value_dtype=b.dtype(value_dtype)
    )


@builtin("HASHTABLE_IMPORT", any_type=True)
def hash_table_import(b: OperatorBuilder, table: LiteValue, keys: LiteValue, values: LiteValue) -> None:
    """Ignored if the table has entries."""
    b.effect("InitializeTableV2", table, b.Reshape(keys, [-1]), b.Reshape(values, [-1]))


@builtin("HASHTABLE_FIND", any_type=True)
def hash_table_find(b: OperatorBuilder, table: LiteValue, keys: LiteValue, default: LiteValue) -> Node:
    return b.effect("LookupTableFindV2", table, keys, as_scalar(b, default))


@builtin("HASHTABLE_SIZE", any_type=True)
def hash_table_size(b: OperatorBuilder, table: LiteValue) -> Value:
    return b.Reshape(b.effect("LookupTableSizeV2", table), b.constant([1], INT32)).output(0)


@builtin("HASHTABLE_LOOKUP", any_type=True)
def hash_table_lookup(
    b: OperatorBuilder, wanted: LiteValue, keys: LiteValue, values: LiteValue
) -> list[Value]:
    """Rows of `values` by their keys, which are sorted; and whether each key is there."""
    places = b.Squeeze(b.LowerBound(b.ExpandDims(keys, 0), b.ExpandDims(wanted, 0)), squeeze_dims=[0])
    last = b.Sub(b.Size(keys), 1)
    places = b.Minimum(places, last)
    hits = b.Equal(b.GatherV2(keys, places, 0), wanted)
    rows = b.GatherV2(values, places, 0)
    chosen = b.Select(hits, rows, b.ZerosLike(rows))
    return [chosen.output(0), b.cast(hits, b.dtype("UINT8"))]
