"""Convert lookup tables between resources (V2) and references (V1), all tables of a main graph at once.

The dtype of a handle changes everywhere, so rules for single nodes cannot do this: each table is
followed from its creation through pass-through nodes to all of its readers. A table that cannot be
converted is refused before anything changes. Functions must be inlined before (`graph.inline`,
`structure.lower`). Tables as constants: `structure.constant_tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import RESOURCE, STRING
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.op_facts.kinds import ENTERS, EXITS, MERGES, NEXTS, SWITCHES
from tfport.graph.state import TABLE_CLASSES
from tfport.startup.dataclass import dataclass

CREATED = {f"{table}V2": table for table in TABLE_CLASSES}
READ = {
    "LookupTableFindV2": "LookupTableFind",
    "LookupTableInsertV2": "LookupTableInsert",
    "LookupTableImportV2": "LookupTableImport",
    "LookupTableExportV2": "LookupTableExport",
    "LookupTableSizeV2": "LookupTableSize",
    "InitializeTableV2": "InitializeTable",
    "InitializeTableFromTextFileV2": "InitializeTableFromTextFile",
}
PASS_THROUGH = dict((("Identity", "RefIdentity"), ENTERS, EXITS, SWITCHES, MERGES, NEXTS))
ANONYMOUS = tuple(f"Anonymous{table}" for table in TABLE_CLASSES)
IMPORTS = {"LookupTableImport": "InitializeTable", "LookupTableImportV2": "InitializeTableV2"}
FILLED_ONCE = ("HashTable", "HashTableV2", "AnonymousHashTable")
LIST = "IdentityN"
DELETED_KEY = 1
MOST_PASS_THROUGH = 100

Changed = list[tuple[str, str]]
"""The changed nodes: their names, and their ops before the change."""


class TableRefusal(StructureRefusal):
    """Why a table cannot be converted."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One of the two versions, and the op of the other version for each of its ops."""

    name: str
    created: Mapping[str, str]
    read: Mapping[str, str]
    pass_through: Mapping[str, str]


V2 = TableVersion("V2", CREATED, READ, PASS_THROUGH)
V1 = TableVersion("V1", *({new: old for old, new in ops.items()} for ops in (CREATED, READ, PASS_THROUGH)))


def tables_to_v1(graph: Graph) -> Changed:
    """Convert every resource table to a reference, for targets without resource tables."""
    if node := next((node for node in graph if node.op in ANONYMOUS), None):
        raise TableRefusal(f"`{node.name}` is a {node.op}, which lives for one run; a V1 table outlives it")
    changed = _convert(graph, V2, STRING)
    known = {name for name, _ in changed}
    return [*changed, *(change for change in imports_to_initializers(graph) if change[0] not in known)]


def tables_to_v2(graph: Graph) -> Changed:
    """Convert every table reference to a resource, for targets that have only resources."""
    if node := next((node for node in graph if node.op == "MutableDenseHashTable"), None):
        raise TableRefusal(
            f"`{node.name}` is a MutableDenseHashTable; its V2 op needs a deleted key, which V1 does not have"
        )
    return _convert(graph, V1, RESOURCE)


def imports_to_initializers(graph: Graph) -> Changed:
    """Use InitializeTable for tables that are filled once: before 1.11 they reject LookupTableImport."""
    changed: Changed = []
    for node in graph:
        if node.op in IMPORTS and node.inputs and _origin(node.inputs[0]).op in FILLED_ONCE:
            changed.append((node.name, node.op))
            types = {"Tkey": node.attrs.get("Tin"), "Tval": node.attrs.get("Tout")}
            others = {name: value for name, value in node.attrs.items() if name not in ("Tin", "Tout")}
            node.become(IMPORTS[node.op], {**others, **types})
    return changed


def _origin(handle: Value) -> Node:
    """The node that creates a handle, before any pass-through nodes."""
    node = handle.node
    for _ in range(MOST_PASS_THROUGH):
        if node.op not in (*PASS_THROUGH, *PASS_THROUGH.values()) or not node.inputs:
            break
        node = node.inputs[0].node
    return node


def _convert(graph: Graph, form: TableVersion, handle: Attr) -> Changed:
    tables = [node for node in graph if node.op in form.created]
    handles = bypass_lists(handles_of(tables, form))
    readers = list(dict.fromkeys(user for value in handles for user in value.uses))
    changed = [(node.name, node.op) for node in (*tables, *readers)]
    for table in tables:
        # releases before 1.13 have no deleted_key
        table.set_inputs(table.inputs[:DELETED_KEY])
        table.become(form.created[table.op], dict(_without_shapes(table.attrs)))
    for node in readers:
        if node.op in form.read:
            node.become(form.read[node.op], {k: v for k, v in node.attrs.items() if (k, v) != ("offset", 0)})
        else:
            node.become(form.pass_through[node.op], {**_without_shapes(node.attrs), "T": handle})
    return changed


def handles_of(tables: Iterable[Node], form: TableVersion) -> list[Value]:
    """Every value that is the handle of one of these tables; refuses an unsupported reader."""
    handles: dict[Value, None] = {table.output(0): None for table in tables}
    waiting = list(handles)
    while waiting:
        value = waiting.pop()
        for user in value.uses:
            if user.op in form.read and value not in user.inputs[1:]:
                continue
            if user.op not in (LIST, *form.pass_through):
                raise TableRefusal(_why_unsupported(value, user, form))
            new = [output for output in _pass_through_outputs(user, value) if output not in handles]
            handles.update(dict.fromkeys(new))
            waiting += new
    for value in handles:
        if value.node.op in form.pass_through:
            _has_only_handles(value.node, handles)
    return list(handles)


def _why_unsupported(value: Value, user: Node, form: TableVersion) -> str:
    if user.op in user.graph.library.functions or (user.signature and user.signature.calls):
        return f"`{user.name}` passes the table `{value}` to a function, where it cannot be converted"
    others = "references" if form is V2 else "resources"
    return f"`{user.name}` reads the table `{value}`, but {user.op} cannot read tables that are {others}"


def bypass_lists(handles: list[Value]) -> list[Value]:
    """Let readers of a handle that an IdentityN passes on, as after a loop, read the input of the IdentityN.

    Returns the remaining handles. Handles among the inputs of the IdentityN are replaced by another input;
    an IdentityN of handles only becomes a NoOp.
    """
    among = set(handles)
    for node in dict.fromkeys(value.node for value in handles if value.node.op == LIST):
        inputs = list(node.inputs)
        others = [value for value in inputs if value not in among]
        for index, value in enumerate(inputs):
            if value in among:
                node.output(index).replace_by(value)
                inputs[index] = others[0] if others else value
        if not others:
            node.set_controls([*node.controls, *(value.node for value in node.inputs)])
        node.set_inputs(inputs if others else ())
        types: list[Attr] = [value.dtype.base for value in node.inputs]
        node.become(LIST if others else "NoOp", {**_without_shapes(node.attrs), "T": types} if others else {})
    return [value for value in handles if value.node.op not in (LIST, "NoOp")]


def _pass_through_outputs(node: Node, handle: Value) -> list[Value]:
    """The outputs that pass a handle on: both of a Switch, the first of a Merge."""
    if node.op == LIST:
        return [node.output(index) for index, value in enumerate(node.inputs) if value is handle]
    return [node.output(0), node.output(1)] if node.op.endswith("Switch") else [node.output(0)]


def _has_only_handles(node: Node, handles: Mapping[Value, None]) -> None:
    sources = node.inputs if node.op.endswith("Merge") else node.inputs[:1]
    if other := next((value for value in sources if value not in handles), None):
        raise TableRefusal(f"`{node.name}` passes on `{other}` as well as a table")


def _without_shapes(attrs: Mapping[str, Attr]) -> dict[str, Attr]:
    """The attributes without shapes: a resource handle is a scalar, a reference has two elements."""
    return {name: value for name, value in attrs.items() if name != "_output_shapes"}
