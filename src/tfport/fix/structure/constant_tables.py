"""Lookup tables with a few constant entries, converted to plain ops for builds without tables.

A table that is filled once, from constants, and then only looked up becomes a comparison with all
of its keys: a Gather of the value for a known key, else the default. Initializers become NoOp
nodes of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.replace import put_in_place
from tfport.fix.structure.function_bodies import drop_lost_colocations
from tfport.fix.structure.tables import (
    LIST,
    V1,
    V2,
    Changed,
    TableRefusal,
    TableVersion,
    bypass_lists,
    handles_of,
)
from tfport.graph.dtypes import INT32, INT64, STRING
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.state import FILLS
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_KEYS = 4096
"""The most keys of a table: every lookup compares with all of them."""
TABLES = ("HashTable", "HashTableV2")
FINDS = ("LookupTableFind", "LookupTableFindV2")
SIZES = ("LookupTableSize", "LookupTableSizeV2")
KEYS = (STRING, INT64, INT32)


@dataclass(frozen=True, slots=True)
class TableEntries:
    """A table with its entries and its handles."""

    table: Node
    keys: NDArray[Any]
    values: NDArray[Any]
    handles: list[Value]


def tables_to_constants(graph: Graph, facts: Facts, checker: NodeChecker) -> Changed:
    """Convert every table of a main graph to comparisons with its keys; refuses if one cannot be."""
    tables = [_entries(node, facts) for node in graph if node.op in (*V1.created, *V2.created)]
    changed: Changed = []
    for entries in tables:
        handles = bypass_lists(entries.handles)
        readers = list(dict.fromkeys(user for value in handles for user in value.uses))
        others = [node for node in readers if node.op not in (*FINDS, *SIZES)]
        changed += [(node.name, node.op) for node in (entries.table, *readers)]
        for node in readers:
            if node.op in FINDS:
                _find(node, entries, RuleBuilder(node, facts, checker))
            elif node.op in SIZES:
                _size(node, entries, RuleBuilder(node, facts, checker))
        _clear(entries.table, others)
    return changed


def _entries(table: Node, facts: Facts) -> TableEntries:
    if table.op not in TABLES:
        raise TableRefusal(f"`{table.name}` is a {table.op}, whose entries may change")
    form: TableVersion = V2 if table.op in V2.created else V1
    handles = handles_of([table], form)
    fills = []
    for user in dict.fromkeys(user for value in handles for user in value.uses):
        if user.op in FILLS:
            fills.append(user)
        elif user.op not in (*FINDS, *SIZES, LIST, *form.pass_through):
            raise TableRefusal(f"`{user.name}` ({user.op}) does more than look up `{table.name}`")
        elif user.op in SIZES and user.inputs[0].node is not table:
            raise TableRefusal(f"`{user.name}` reads the size of a table inside a branch or loop")
    if len(fills) != 1:
        raise TableRefusal(f"`{table.name}` is filled by {len(fills)} nodes; expected one")
    keys, values = (facts.constant(value) for value in fills[0].inputs[1:])
    if keys is None or values is None:
        raise TableRefusal(f"`{fills[0].name}` fills `{table.name}` from values that are not constant")
    if table.attrs.get("key_dtype") not in KEYS:
        raise TableRefusal(f"`{table.name}` has keys of the unsupported dtype {table.attrs.get('key_dtype')}")
    return TableEntries(table, *_distinct(table, keys.reshape(-1), values.reshape(-1)), handles)


def _distinct(table: Node, keys: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Each key once: TensorFlow accepts a repeated key only with the same value."""
    indices: dict[Any, int] = {}
    for index, key in enumerate(keys.tolist()):
        first = indices.setdefault(key, index)
        if first != index and values[first] != values[index]:
            raise TableRefusal(f"`{table.name}` has two values for the key {key!r}")
    if not indices or len(indices) > MOST_KEYS:
        raise TableRefusal(f"`{table.name}` has {len(indices)} keys; expected 1 to {MOST_KEYS}")
    kept = list(indices.values())
    return keys[kept], values[kept]


def _find(node: Node, entries: TableEntries, op: RuleBuilder) -> None:
    """Gather from the values and the default, which is appended: at the index of the key, or at the end."""
    _, keys, default = node.inputs
    node.set_inputs((keys, default))  # constants then stay in the branch or loop of the keys
    dtype, count = keys.dtype.base, len(entries.keys)
    flat = op.ExpandDims(op.Reshape(keys, [-1]), 1)
    equal = op.Cast(op.Equal(flat, op.const(entries.keys[None], dtype)), SrcT="bool", DstT="int32")
    # at most one key is equal, so the sum is its index minus the number of keys, or 0
    back = op.Sum(op.Mul(equal, op.const(np.arange(-count, 0), INT32)), [1])
    stored = op.const(entries.values, default.dtype.base)
    values = op.ConcatV2([stored, op.Reshape(default, [1])], 0)
    matches = op.Gather(values, op.Add(back, op.const(count, INT32)))
    answer = op.Reshape(matches, op.Shape(keys, out_type="int32"))
    put_in_place(node, [answer.output(0)], op.added, op.facts, named=True)


def _size(node: Node, entries: TableEntries, op: RuleBuilder) -> None:
    put_in_place(node, [op.const(len(entries.keys), INT64)], op.added, op.facts, named=True)


def _clear(table: Node, readers: list[Node]) -> None:
    """Remove the table and nodes that pass it on; those that are named or waited for become NoOp."""
    nodes = [table, *(node for node in readers if node.graph.nodes.get(node.name) is node)]
    for node in nodes:
        node.set_inputs(())
    for node in nodes:
        if node.op in FILLS or node.users:
            node.become("NoOp", {})
        else:
            node.graph.remove(node)
    drop_lost_colocations(table.graph)
