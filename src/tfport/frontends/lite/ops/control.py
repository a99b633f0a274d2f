"""Branches, loops and calls of subgraphs, and what is kept between calls: variables and hash tables."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.quantized_value import unsigned
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.variables import variable_key
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value
from tfport.graph.shapes import Shape


@builtin("IF", any_type=True)
def if_(
    b: OperatorBuilder,
    condition: LiteValue,
    *inputs: LiteValue,
    then_subgraph_index: int,
    else_subgraph_index: int,
) -> list[Value]:
    branches = [then_subgraph_index, else_subgraph_index]
    names = dict(zip(("then_branch", "else_branch"), branches, strict=True))
    return _call(b, "If", branches, as_scalar(b, condition), list(inputs), functions=names)


@builtin("STABLEHLO_CASE", any_type=True)
def case(
    b: OperatorBuilder, index: LiteValue, *inputs: LiteValue, branch_subgraph_indices: tuple[int, ...]
) -> list[Value]:
    """An index outside of the list chooses the last branch."""
    numbers = list(branch_subgraph_indices)
    refs = [FunctionRef(b.function(number)) for number in numbers]
    return _call(b, "Case", numbers, as_scalar(b, index), list(inputs), branches=refs)


@builtin("WHILE STABLEHLO_WHILE", any_type=True)
def while_(
    b: OperatorBuilder, *inputs: LiteValue, cond_subgraph_index: int, body_subgraph_index: int
) -> list[Value]:
    condition = FunctionRef(b.function(cond_subgraph_index, is_condition=True))
    shapes = [Shape(value.shape) if value.shape else Shape(None) for value in inputs]
    return _call(
        b,
        "While",
        [cond_subgraph_index, body_subgraph_index],
        list(inputs),
        functions={"body": body_subgraph_index},
        cond=condition,
        output_shapes=shapes,
    )


@builtin("CALL", any_type=True)
def call(b: OperatorBuilder, *inputs: LiteValue, subgraph: int) -> list[Value]:
    return call_subgraph(b, subgraph, list(inputs))


@builtin("CALL_ONCE")
def call_once(b: OperatorBuilder, *, init_subgraph_index: int) -> None:
    b.initialize(init_subgraph_index)


def call_subgraph(b: OperatorBuilder, number: int, inputs: list[Any]) -> list[Value]:
    """The outputs of a subgraph for these inputs."""
    return _call(b, "PartitionedCall", [number], inputs, functions={"f": number})


def as_scalar(b: OperatorBuilder, x: LiteValue) -> Value:
    """The only element of a tensor."""
    return b.value(x) if x.rank == 0 else b.Reshape(x, b.const([], INT32)).output(0)


def _call(
    b: OperatorBuilder,
    op: str,
    numbers: list[int],
    *inputs: Any,
    functions: dict[str, int] | None = None,
    **attrs: Any,
) -> list[Value]:
    """A call: with effects if one of the subgraphs has any."""
    refs = {name: FunctionRef(b.function(number)) for name, number in (functions or {}).items()}
    if op != "While":
        attrs["Tout"] = [b.dtype(tensor.type) for tensor in b.outputs]
    if any(b.has_effects(number) for number in numbers):
        node = b.effect(
            "StatefulPartitionedCall" if op == "PartitionedCall" else op, *inputs, **refs, **attrs
        )
    else:
        node = b.node(op if op == "PartitionedCall" else f"Stateless{op}", *inputs, **refs, **attrs)
    return [node.output(index) for index in range(len(b.operator.outputs))]


# Variables and hash tables

STORED = {"INT8": "UINT8"}
"""How variables are kept: bytes as activations are, so that nothing is converted where these are read."""


@builtin("VAR_HANDLE")
def var_handle(b: OperatorBuilder, *, container: str = "", shared_name: str = "") -> Node:
    element_type = b.subgraph.file.variables.get(variable_key(b.operator), "FLOAT32")
    name = "/".join(part for part in (container, shared_name) if part) or "variable"
    return b.VarHandleOp(
        container="",
        shared_name=name,
        dtype=b.dtype(STORED.get(element_type, element_type)),
        shape=Shape(None),
    )


@builtin("READ_VARIABLE", any_type=True)
def read_variable(b: OperatorBuilder, handle: LiteValue) -> Node:
    element_type = b.outputs[0].type
    value = b.effect("ReadVariableOp", handle, dtype=b.dtype(STORED.get(element_type, element_type)))
    return b.LiteSigned(value) if element_type in STORED else value


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
    return b.Reshape(b.effect("LookupTableSizeV2", table), b.const([1], INT32)).output(0)


@builtin("HASHTABLE_LOOKUP", any_type=True)
def hash_table_lookup(
    b: OperatorBuilder, wanted: LiteValue, keys: LiteValue, values: LiteValue
) -> list[Value]:
    """Rows of `values` by their keys, which are sorted; and whether each key is there."""
    positions = b.Squeeze(b.LowerBound(b.ExpandDims(keys, 0), b.ExpandDims(wanted, 0)), squeeze_dims=[0])
    last = b.Sub(b.Size(keys), 1)
    positions = b.Minimum(positions, last)
    hits = b.Equal(b.GatherV2(keys, positions, 0), wanted)
    rows = b.GatherV2(values, positions, 0)
    chosen = b.Select(hits, rows, b.ZerosLike(rows))
    return [chosen.output(0), b.cast(hits, b.dtype("UINT8"))]
