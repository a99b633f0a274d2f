"""Lookup table ops: create, initialize, find, insert, remove, import and export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import Context, host, shapes
from tfport.runtime.ops.tables.table import DenseTable, LookupTable, MutableTable, Shape, StaticTable

if TYPE_CHECKING:
    from tfport.graph.dtypes import DType

T = TypeVar("T", bound=LookupTable)


def _shared(new_table: T, context: Context, shared_name: str) -> T:
    """The session's table of this class and name; `new_table` if there is none yet."""
    table = context.state.resource(type(new_table), shared_name or context.name, lambda: new_table)
    declared = (new_table.key, new_table.value_type, new_table.value_shape)
    if (table.key, table.value_type, table.value_shape) != declared:
        raise RunFailed(
            f"table `{table.name}` already exists with keys {table.key} and values {table.value_type}"
            f" of shape {list(table.value_shape)}, found a declaration with keys {new_table.key} and values"
            f" {new_table.value_type} of shape {list(new_table.value_shape)}"
        )
    return table


def _sizes(shape: Any) -> Shape:
    if shape.dims is None or None in shape.dims:
        raise RunFailed(f"value_shape must be fully known, found {shape}")
    return tuple(shape.dims)


def _static(context: Context, shared_name: str, key: DType, value: DType) -> StaticTable:
    return StaticTable(shared_name or context.name, key, value)


@host("HashTable HashTableV2", once=True)
def hash_table(*, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, context):
    return _shared(_static(context, shared_name, key_dtype, value_dtype), context, shared_name)


@host("AnonymousHashTable")
def anonymous_hash_table(*, key_dtype, value_dtype, context):
    return _static(context, "", key_dtype, value_dtype)


@host("MutableHashTable MutableHashTableV2", once=True)
def mutable_hash_table(*, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, context):
    new_table = MutableTable(shared_name or context.name, key_dtype, value_dtype)
    return _shared(new_table, context, shared_name)


@host("AnonymousMutableHashTable")
def anonymous_mutable_hash_table(*, key_dtype, value_dtype, context):
    return MutableTable(context.name, key_dtype, value_dtype)


@host("MutableHashTableOfTensors MutableHashTableOfTensorsV2", once=True)
def mutable_hash_table_of_tensors(
    *, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, value_shape, context
):
    new_table = MutableTable(shared_name or context.name, key_dtype, value_dtype, _vector(value_shape))
    return _shared(new_table, context, shared_name)


@host("AnonymousMutableHashTableOfTensors")
def anonymous_mutable_hash_table_of_tensors(*, key_dtype, value_dtype, value_shape, context):
    return MutableTable(context.name, key_dtype, value_dtype, _vector(value_shape))


def _vector(shape: Any) -> Shape:
    sizes = _sizes(shape)
    if len(sizes) != 1:
        raise RunFailed(f"value_shape must have one axis, found {list(sizes)}")
    return sizes


@host("MutableDenseHashTable MutableDenseHashTableV2", once=True)
def mutable_dense_hash_table(
    empty_key,
    *deleted_key,
    container,
    shared_name,
    use_node_name_sharing,
    key_dtype,
    value_dtype,
    value_shape,
    initial_num_buckets,
    max_load_factor,
    context,
):
    name, size = shared_name or context.name, (initial_num_buckets, max_load_factor)
    new_table = _dense(name, value_dtype, value_shape, *size, key_dtype, empty_key, *deleted_key)
    return _shared(new_table, context, shared_name)


@host("AnonymousMutableDenseHashTable")
def anonymous_mutable_dense_hash_table(
    empty_key,
    deleted_key,
    *,
    key_dtype,
    value_dtype,
    value_shape,
    initial_num_buckets,
    max_load_factor,
    context,
):
    size = initial_num_buckets, max_load_factor
    return _dense(context.name, value_dtype, value_shape, *size, key_dtype, empty_key, deleted_key)


def _dense(
    name: str, value: DType, shape: Any, buckets: int, load: float, key: DType, empty: Any, *deleted: Any
) -> DenseTable:
    if buckets < 4 or buckets & (buckets - 1):
        raise RunFailed(f"initial_num_buckets must be a power of two and at least 4, found {buckets}")
    if not 0 < load < 1:
        raise RunFailed(f"max_load_factor must be between 0 and 1, found {load}")
    table = DenseTable(name, key, value, _sizes(shape), empty.shape)
    table.reserved = dict(zip(table.key_list(empty), ("empty key",), strict=True))
    for other in deleted:
        if other.shape != empty.shape or table.key_list(other)[0] in table.reserved:
            raise RunFailed(
                "deleted_key must have the shape of empty_key and differ from it, "
                f"found {other.tolist()} and {empty.tolist()}"
            )
        table.reserved[table.key_list(other)[0]] = "deleted key"
    return table


@host("InitializeTable InitializeTableV2")
def initialize_table(table_handle, keys, values):
    _check_static(table_handle)
    if keys.shape != values.shape or keys.ndim != 1:
        raise RunFailed(
            "keys and values must be vectors of equal length,"
            f" found shapes {list(keys.shape)} and {list(values.shape)}"
        )
    table_handle.fill(keys, values)


def _check_static(table: LookupTable) -> None:
    if not isinstance(table, StaticTable):
        raise RunFailed(f"table `{table.name}` must be an immutable table")


@host("LookupTableImport LookupTableImportV2")
def lookup_table_import(table_handle, keys, values):
    table_handle.fill(keys, values)


@shapes("LookupTableFind LookupTableFindV2")
def looked_up(inputs, attrs):
    """A value for each key; keys and values of some tables are vectors."""
    table, keys = inputs[0].value, inputs[1].shape
    if not isinstance(table, LookupTable) or keys is None or len(keys) < len(table.key_shape):
        return [None]
    return [(*keys[: len(keys) - len(table.key_shape)], *table.value_shape)]


@host("LookupTableFind LookupTableFindV2")
def lookup_table_find(table_handle, keys, default_value):
    return table_handle.find(keys, default_value)


@host("LookupTableInsert LookupTableInsertV2")
def lookup_table_insert(table_handle, keys, values):
    table_handle.insert(keys, values)


@host("LookupTableRemoveV2")
def lookup_table_remove(table_handle, keys):
    table_handle.remove(keys)


@host("LookupTableExport LookupTableExportV2")
def lookup_table_export(table_handle, *, Tkeys, Tvalues):
    if (table_handle.key, table_handle.value_type) != (Tkeys, Tvalues):
        raise RunFailed(
            f"table `{table_handle.name}` maps {table_handle.key} to {table_handle.value_type},"
            f" found Tkeys {Tkeys} and Tvalues {Tvalues}"
        )
    return table_handle.export()


@host("LookupTableSize LookupTableSizeV2")
def lookup_table_size(table_handle):
    return np.array(table_handle.size(), np.int64)
