"""The state of a model: variables, tables and assets, and what initializes each of them at load.

Variables and tables are nodes of the main graph. To find their values, the restore and
init ops of the model are followed, also into functions: a `RestoreV2` output that
reaches an assignment has the name of the checkpoint tensor, and a table initializer
that reads an asset has the file name. This works for TF1 and TF2, without the object graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tfport.formats.encoding.message import parse_message
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.read import ASSETS
from tfport.formats.yggdrasil.records import DATA_SPEC
from tfport.graph.constants import constant_texts
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.inline import callee
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import ENTERS, FUNCTIONAL, SWITCHES
from tfport.graph.reach import needed_by
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.startup.dataclass import dataclass

VARIABLES = ("VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable")
TABLE_CLASSES = ("HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable")
TABLES = tuple(table + version for table in TABLE_CLASSES for version in ("", "V2"))
_RESTORES = {"RestoreV2": (1, 2), "Restore": (1, None), "RestoreSlice": (1, 2)}
_ASSIGNS = ("AssignVariableOp", "Assign")
_FROM_FILE = ("InitializeTableFromTextFile", "InitializeTableFromTextFileV2")
FILLS = ("InitializeTable", "InitializeTableV2", "LookupTableImport", "LookupTableImportV2")
_SETS = frozenset((*_ASSIGNS, *FILLS, *_FROM_FILE))
_RESHAPES = ("Reshape", "Bitcast")
_PASSES = ("Identity", "Cast", *_RESHAPES)
_LOOKS_ONLY = (
    "VarIsInitializedOp", "IsVariableInitialized", "DestroyResourceOp", "NoOp", "_Retval",
    *FUNCTIONAL, *SWITCHES, *ENTERS,
)  # fmt: skip
"""Ops that take a variable without reading its value, or read it only if a branch is taken."""
_CARRY = ("Identity", *ENTERS, "ReadVariableOp")
_ASSET_COLLECTION = "saved_model_assets"
_DEEPEST = 32
MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class GraphVariable:
    """A variable, and the checkpoint tensor that initializes it, if there is one."""

    name: str
    node: Node
    dtype: DType
    shape: Shape
    key: str | None = None
    slice: str = ""
    """The slice of that tensor, as TensorFlow writes it: `10 4 0,5:-`; empty for the whole."""
    stored: DType | None = None
    """The type of that tensor as the restore op declares it; a cast may follow."""
    reshaped: bool = False
    """Whether the tensor is reshaped before it is assigned."""


RestoreSource = tuple[str, str, DType | None, bool]
"""The fields `key`, `slice`, `stored` and `reshaped` of a restored variable."""


@dataclass(frozen=True, slots=True)
class GraphTable:
    """A lookup table, and the asset that initializes it, if there is one."""

    name: str
    node: Node
    key: DType
    value: DType
    filled_by: str | None = None
    asset: str | None = None


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the model, and the tensor that receives its path."""

    file: str
    tensor: str
    nbytes: int | None
    """None if the file is missing."""


def assets(model: Model) -> list[Asset]:
    """The files that the model reads at load."""
    unique = {}
    for definition in asset_definitions(model.meta):
        name = f"{ASSETS}/{definition.filename}"
        size = model.files.size(name) if model.files.has(name) else None
        tensor = definition.tensor_info.name
        unique[definition.filename, tensor] = Asset(definition.filename, tensor, size)
    return list(unique.values())


def forest_prefixes(model: Model) -> list[str]:
    """What the names of each decision forest's files start with; TensorFlow.js names only its `done`."""
    ends = (DATA_SPEC, "done")
    files = [asset.file for asset in assets(model) if asset.file.endswith(ends)]
    stems = dict.fromkeys(file.removesuffix(ends[0]).removesuffix(ends[1]) for file in files)
    return [stem for stem in stems if model.files.has(f"{ASSETS}/{stem}{DATA_SPEC}")]


def asset_definitions(meta: pb.MetaGraphDef) -> Iterator[pb.AssetFileDef]:
    """The asset definitions: in a field since TF2, in a collection in TF1."""
    yield from meta.asset_file_def
    if _ASSET_COLLECTION in meta.collection_def:
        for packed in meta.collection_def[_ASSET_COLLECTION].any_list.value:
            yield parse_message(pb.AssetFileDef, packed.value, f"collection {_ASSET_COLLECTION}")


def variables(model: Model) -> list[GraphVariable]:
    """The variables of the main graph with the tensors that initialize them."""
    restored = dict(_restored(model))
    return [variable_of(node, restored.get(node, ())) for node in model.graph if node.op in VARIABLES]


def restored_nodes(model: Model) -> Iterator[tuple[Node, RestoreSource]]:
    """The variables of the main graph that tensors of the checkpoint initialize, each with its tensor."""
    restored = dict(_restored(model))
    for node in model.graph:
        if node.op in VARIABLES and (source := restored.get(node)) is not None:
            yield node, source


def variable_of(node: Node, source: RestoreSource | tuple[()]) -> GraphVariable:
    """The variable of a node."""
    shape = node.attr("shape")
    shape = shape if isinstance(shape, Shape) else UNKNOWN
    return GraphVariable(shared_name(node), node, _type(node, "dtype"), shape, *source)


def _type(node: Node, attr: str) -> DType:
    dtype = node.attr(attr)
    return dtype if isinstance(dtype, DType) else INVALID


def shared_name(node: Node) -> str:
    """The shared name of a resource, or the name of its node."""
    name = node.attr("shared_name")
    return name if isinstance(name, str) and name else node.name


def tables(model: Model) -> list[GraphTable]:
    """The lookup tables of the main graph with the ops that initialize them."""
    fills = _fillers(model)
    out = []
    for node in model.graph:
        if node.op in TABLES:
            op, file = fills.get(node, (None, None))
            key, value = _type(node, "key_dtype"), _type(node, "value_dtype")
            out.append(GraphTable(shared_name(node), node, key, value, op, file))
    return out


def _fillers(model: Model) -> dict[Node, tuple[str, str | None]]:
    """The tables that are initialized at load, with the op that does it and the asset it reads."""
    files = {asset.tensor.partition(":")[0]: asset.file for asset in assets(model)}
    fills: dict[Node, tuple[str, Node | None]] = {}
    kept: dict[Node, Node] = {}  # TF2 stores the path of an asset in a variable
    for node, outer in steps_of(model.init_nodes):
        if node.op in (*FILLS, *_FROM_FILE) and len(node.inputs) > 1:
            source = origin(node.inputs[1], outer) if node.op in _FROM_FILE else None
            fills[origin(node.inputs[0], outer)] = (node.op, source)
        elif node.op in _ASSIGNS and len(node.inputs) > 1:
            kept[origin(node.inputs[0], outer)] = origin(node.inputs[1], outer)
    return {
        table: (op, files.get(kept.get(source, source).name) if source else None)
        for table, (op, source) in fills.items()
    }


def filled_at_load(model: Model, *, by_signature: bool = True) -> set[Node]:
    """The variables and tables that restore and init ops assign."""
    nodes: set[Node] = set()
    for node, outer in steps_of([*model.init_nodes_for(by_signature=by_signature), *model.restore_nodes]):
        if node.op in _SETS and node.inputs:
            nodes.add(origin(node.inputs[0], outer))
    return nodes


Outer = Mapping[Value, Value]
"""The values that the main graph passes for the arguments of a function."""


def steps_of(ends: Iterable[Node]) -> Iterator[tuple[Node, Outer]]:
    """All nodes that these nodes need, in the main graph and in called functions, with the arguments.

    A function is not followed again with the same arguments. Calls are followed up to a
    limit that real programs do not reach. A call with a wrong number of arguments is
    not followed.
    """
    bodies: list[tuple[Iterable[Node], Outer]] = [(needed_by(ends), {})]
    followed: set[tuple[str, tuple[Value, ...]]] = set()
    steps = 0
    for nodes, outer in bodies:  # grows during the loop
        for node in nodes:
            yield node, outer
            function = callee(node)
            if function is None or steps >= MOST_STEPS or arity(function) != len(node.inputs):
                continue
            passed = tuple(outer.get(v, v) for v in node.inputs)
            if (function.name, passed) not in followed:
                followed.add((function.name, passed))
                steps += len(function) + len(passed)
                bodies.append((function, dict(zip(function.arguments, passed, strict=True))))


def arity(function: Function) -> int:
    """The number of tensors that a function takes, without creating them."""
    args = function.args.values()
    return sum((arg.count(function.attrs) or 0) if arg.is_list else 1 for arg in args)


def origin(value: Value, outer: Outer) -> Node:
    """The node that a value comes from, through arguments and nodes that only pass it on."""
    return value.source(_CARRY, outer).node


def _restored(model: Model) -> Iterator[tuple[Node, RestoreSource]]:
    """The node of each restored variable, with its checkpoint tensor."""
    for node, outer in steps_of(model.restore_nodes):
        if node.op in _RESTORES:
            names, parts = (constant_strings(node, position, outer) for position in _RESTORES[node.op])
            types = _restored_types(node)
            for index, name in enumerate(names):
                part = parts[index] if index < len(parts) else ""
                dtype = types[index] if index < len(types) else None
                for variable, reshaped in _assigned(node.output(index), outer):
                    yield variable, (name, part, dtype, reshaped)


def _restored_types(node: Node) -> list[DType | None]:
    """The types of the outputs of a restore op."""
    types = node.attr("dtypes")
    return [
        t if isinstance(t, DType) else None for t in (types if isinstance(types, list) else [node.attr("dt")])
    ]


def constant_strings(node: Node, index: int | None, outer: Outer) -> list[str]:
    """The constant strings of an input of a node; empty if they are not constant."""
    if index is None or index >= len(node.inputs):
        return []
    return constant_texts(outer.get(node.inputs[index], node.inputs[index]))


def _assigned(
    value: Value, outer: Outer, depth: int = 0, reshaped: bool = False
) -> Iterator[tuple[Node, bool]]:
    """The variables that a value is assigned to, and whether it is reshaped before."""
    for user in value.uses:
        if user.op in _ASSIGNS and len(user.inputs) == 2 and user.inputs[1] is value:
            yield origin(user.inputs[0], outer), reshaped
        elif user.op in _PASSES and user.inputs[0] is value and depth < _DEEPEST:
            yield from _assigned(user.output(0), outer, depth + 1, reshaped or user.op in _RESHAPES)


def variables_read(ends: Iterable[Node]) -> set[Node]:
    """The variables that running these nodes always reads before anything assigns them.

    Branches and loops are not followed, as a run may skip them: neither into their functions
    nor, in TF1, past a `Switch`.
    """
    read: set[Node] = set()
    assigned: set[Node] = set()
    skippable: dict[Graph, set[Node]] = {}
    for node, outer in steps_of(ends):
        if node.graph not in skippable:
            skippable[node.graph] = _after_switches(node.graph)
        for index, value in enumerate(node.inputs):
            source = origin(value, outer)
            if source.op not in VARIABLES:
                continue
            if node.op.startswith("Assign") and not index:
                assigned.add(source)
            elif node.op not in _LOOKS_ONLY and callee(node) is None and node not in skippable[node.graph]:
                read.add(source)
    return read - assigned


def _after_switches(graph: Graph) -> set[Node]:
    """The nodes that a TF1 branch or loop may skip."""
    if not graph.has_branches:
        return set()
    stack = [node for node in graph if node.op in (*SWITCHES, *ENTERS)]
    skipped: set[Node] = set()
    while stack:
        for node in stack.pop().users:
            if node not in skipped:
                skipped.add(node)
                stack.append(node)
    return skipped
