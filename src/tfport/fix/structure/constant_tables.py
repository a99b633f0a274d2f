"""Look-up tables that always hold the same few entries, said without any table.

A build may have no tables at all. One that is filled once, from constants, and then only looked up
is a comparison with all of its keys: where a key is found, its value is gathered, elsewhere the
default. Initializers stay as nodes that do nothing, for those who know them by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.replace import put_in_place
from tfport.fix.structure.function_bodies import forget_lost_places
from tfport.fix.structure.tables import (
    LIST,
    V1,
    V2,
    Changed,
    TableRefusal,
    TableVersion,
    handles_of,
    past_lists,
)
from tfport.graph.dtypes import INT32, INT64, STRING
from tfport.graph.graph import Graph, Node, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_KEYS = 4096
"""Each key that is looked up is compared with all of them."""
TABLES = ("HashTable", "HashTableV2")
FILLS = ("InitializeTable", "InitializeTableV2", "LookupTableImport", "LookupTableImportV2")
FINDS = ("LookupTableFind", "LookupTableFindV2")
SIZES = ("LookupTableSize", "LookupTableSizeV2")
KEYS = (STRING, INT64, INT32)


@dataclass(frozen=True, slots=True)
class Entries:
    """A table, what it holds, and all that has to do with it."""

    table: Node
    keys: NDArray[Any]
    values: NDArray[Any]
    handles: list[Value]


def tables_to_constants(graph: Graph, facts: Facts, checker: NodeChecker) -> Changed:
    """Every table of a main graph becomes comparisons with its keys; refused if one cannot."""
    tables = [_entries(node, facts) for node in graph if node.op in (*V1.made, *V2.made)]
    changed: Changed = []
    for one in tables:
        handles = past_lists(one.handles)
        readers = list(dict.fromkeys(user for value in handles for user in value.uses))
        others = [node for node in readers if node.op not in (*FINDS, *SIZES)]
        changed += [(node.name, node.op) for node in (one.table, *readers)]
        for node in readers:
            if node.op in FINDS:
                _find(node, one, NodeBuilder(node, facts, checker))
            elif node.op in SIZES:
                _size(node, one, NodeBuilder(node, facts, checker))
        _clear(one.table, others)
    return changed


def _entries(table: Node, facts: Facts) -> Entries:
    if table.op not in TABLES:
        raise TableRefusal(f"`{table.name}` is a {table.op}, which may change while it is used")
    form: TableVersion = V2 if table.op in V2.made else V1
    handles = handles_of([table], form)
    fills = []
    for user in dict.fromkeys(user for value in handles for user in value.uses):
        if user.op in FILLS:
            fills.append(user)
        elif user.op not in (*FINDS, *SIZES, LIST, *form.handed_on):
            raise TableRefusal(f"`{user.name}` does more than look up `{table.name}`: {user.op}")
        elif user.op in SIZES and user.inputs[0].node is not table:
            raise TableRefusal(f"`{user.name}` asks for a size in a branch or loop, where no constant is")
    if len(fills) != 1:
        raise TableRefusal(f"`{table.name}` is filled by {len(fills)} nodes, not by one")
    keys, values = (facts.constant(value) for value in fills[0].inputs[1:])
    if keys is None or values is None:
        raise TableRefusal(f"`{fills[0].name}` fills `{table.name}` from what is no constant")
    if table.attrs.get("key_dtype") not in KEYS:
        raise TableRefusal(f"`{table.name}` has keys of type {table.attrs.get('key_dtype')}")
    return Entries(table, *_distinct(table, keys.reshape(-1), values.reshape(-1)), handles)


def _distinct(table: Node, keys: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Each key once: TensorFlow takes it again with the same value only."""
    places: dict[Any, int] = {}
    for place, key in enumerate(keys.tolist()):
        first = places.setdefault(key, place)
        if first != place and values[first] != values[place]:
            raise TableRefusal(f"`{table.name}` is filled with two values for the key {key!r}")
    if not places or len(places) > MOST_KEYS:
        raise TableRefusal(f"`{table.name}` has {len(places)} keys; expected 1 to {MOST_KEYS}")
    kept = list(places.values())
    return keys[kept], values[kept]


def _find(node: Node, entries: Entries, op: NodeBuilder) -> None:
    """The values with the default behind them, at the place of the key or behind all."""
    _, keys, default = node.inputs
    node.set_inputs((keys, default))  # constants then stay in the branch or loop of the keys
    kind, count = keys.dtype.base, len(entries.keys)
    flat = op.ExpandDims(op.Reshape(keys, [-1]), 1)
    equal = op.Cast(op.Equal(flat, op.const(entries.keys[None], kind)), SrcT="bool", DstT="int32")
    # no more than one is equal, so the sum is its place less their number, or nothing
    back = op.Sum(op.Mul(equal, op.const(np.arange(-count, 0), INT32)), [1])
    held = op.const(entries.values, default.dtype.base)
    values = op.ConcatV2([held, op.Reshape(default, [1])], 0)
    found = op.Gather(values, op.Add(back, op.const(count, INT32)))
    answer = op.Reshape(found, op.Shape(keys, out_type="int32"))
    put_in_place(node, [answer.output(0)], op.made, op.facts, named=True)


def _size(node: Node, entries: Entries, op: NodeBuilder) -> None:
    put_in_place(node, [op.const(len(entries.keys), INT64)], op.made, op.facts, named=True)


def _clear(table: Node, readers: list[Node]) -> None:
    """Take out the table and what handed it on; what somebody knows or waits for stays, to do nothing."""
    nodes = [table, *(node for node in readers if node.graph.nodes.get(node.name) is node)]
    for node in nodes:
        node.set_inputs(())
    for node in nodes:
        if node.op in FILLS or node.users:
            node.become("NoOp", {})
        else:
            node.graph.remove(node)
    forget_lost_places(table.graph)
