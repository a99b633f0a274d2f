"""What a model keeps between calls, and where each piece comes from when it is loaded.

Variables and tables are nodes of the main graph. What fills them is found by
following the model's own restore and init ops, into the functions they call: a
`RestoreV2` output that ends in an assignment names the checkpoint's tensor, an
initialiser that reads an asset names the file. So TF1 and TF2 are read alike,
with no need of the object graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tfport.errors import UnreadableFile
from tfport.formats.encoding.message import parse_message
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.read import ASSETS
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.edit import callee, constant
from tfport.graph.graph import Function, Node, Value
from tfport.graph.model import Model
from tfport.graph.reach import needed_by
from tfport.graph.shapes import UNKNOWN, Shape

VARIABLES = ("VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable")
TABLES = tuple(
    kind + version
    for kind in ("HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable")
    for version in ("", "V2")
)
_RESTORES = {"RestoreV2": (1, 2), "Restore": (1, None), "RestoreSlice": (1, 2)}
_ASSIGNS = ("AssignVariableOp", "Assign")
_FROM_FILE = ("InitializeTableFromTextFile", "InitializeTableFromTextFileV2")
_FILLS = ("InitializeTable", "InitializeTableV2", "LookupTableImport", "LookupTableImportV2", *_FROM_FILE)
_PASSES = ("Identity", "Cast", "Reshape", "Bitcast")
_CARRY = ("Identity", "Enter", "RefEnter", "ReadVariableOp")
_ASSET_COLLECTION = "saved_model_assets"
_DEEPEST = 32
MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class GraphVariable:
    """A variable, and the tensor of the checkpoint that fills it, where one does."""

    name: str
    node: Node
    dtype: DType
    shape: Shape
    key: str | None = None
    slice: str = ""
    """Which part of that tensor, as TensorFlow writes it: `10 4 0,5:-`; empty for all of it."""


@dataclass(frozen=True, slots=True)
class GraphTable:
    """A look-up table, and the asset that fills it, where one does."""

    name: str
    node: Node
    key: DType
    value: DType
    filled_by: str | None = None
    asset: str | None = None


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that belongs to the model, and the tensor that becomes its path."""

    file: str
    tensor: str
    nbytes: int | None
    """None where the file is missing."""


def assets(model: Model) -> list[Asset]:
    """The files that the model reads when it is loaded."""
    found = {}
    for definition in asset_definitions(model.meta):
        name = f"{ASSETS}/{definition.filename}"
        size = model.files.size(name) if model.files.has(name) else None
        tensor = definition.tensor_info.name
        found[definition.filename, tensor] = Asset(definition.filename, tensor, size)
    return list(found.values())


def asset_definitions(meta: pb.MetaGraphDef) -> Iterator[pb.AssetFileDef]:
    """From where TF2 keeps them, and from the collection where TF1 does."""
    yield from meta.asset_file_def
    if _ASSET_COLLECTION in meta.collection_def:
        for packed in meta.collection_def[_ASSET_COLLECTION].any_list.value:
            yield parse_message(pb.AssetFileDef, packed.value, f"collection {_ASSET_COLLECTION}")


def variables(model: Model) -> list[GraphVariable]:
    """The variables of the main graph with what restores them."""
    restored = dict(_restored(model))
    found = []
    for node in model.graph:
        if node.op in VARIABLES:
            key, part = restored.get(node, (None, ""))
            shape = node.attr("shape")
            shape = shape if isinstance(shape, Shape) else UNKNOWN
            found.append(GraphVariable(shared_name(node), node, _type(node, "dtype"), shape, key, part))
    return found


def _type(node: Node, attr: str) -> DType:
    dtype = node.attr(attr)
    return dtype if isinstance(dtype, DType) else INVALID


def shared_name(node: Node) -> str:
    """The name under which a resource is known: its own, or its node's."""
    name = node.attr("shared_name")
    return name if isinstance(name, str) and name else node.name


def tables(model: Model) -> list[GraphTable]:
    """The look-up tables of the main graph with what fills them."""
    fills = _fillers(model)
    found = []
    for node in model.graph:
        if node.op in TABLES:
            op, file = fills.get(node, (None, None))
            key, value = _type(node, "key_dtype"), _type(node, "value_dtype")
            found.append(GraphTable(shared_name(node), node, key, value, op, file))
    return found


def _fillers(model: Model) -> dict[Node, tuple[str, str | None]]:
    """Each table that loading fills, with the op that does it and the asset which that reads."""
    files = {asset.tensor.partition(":")[0]: asset.file for asset in assets(model)}
    fills: dict[Node, tuple[str, Node | None]] = {}
    kept: dict[Node, Node] = {}  # TF2 keeps the path of an asset in a variable
    for node, outer in _steps(model.init_nodes):
        if node.op in _FILLS and len(node.inputs) > 1:
            source = _origin(node.inputs[1], outer) if node.op in _FROM_FILE else None
            fills[_origin(node.inputs[0], outer)] = (node.op, source)
        elif node.op in _ASSIGNS and len(node.inputs) > 1:
            kept[_origin(node.inputs[0], outer)] = _origin(node.inputs[1], outer)
    return {
        table: (op, files.get(kept.get(source, source).name) if source else None)
        for table, (op, source) in fills.items()
    }


def filled_at_load(model: Model, *, by_signature: bool = True) -> set[Node]:
    """The variables and tables that restoring and initialising fill, whatever with."""
    found: set[Node] = set()
    for node, outer in _steps([*model.init_nodes_for(by_signature=by_signature), *model.restore_nodes]):
        if node.op in _ASSIGNS + _FILLS and node.inputs:
            found.add(_origin(node.inputs[0], outer))
    return found


Outer = Mapping[Value, Value]
"""For the arguments of a function that is being followed: what the main graph passes."""


def _steps(ends: Iterable[Node]) -> Iterator[tuple[Node, Outer]]:
    """Every node that runs when these do, in the main graph and in functions called, with the arguments.

    A function called again with the same arguments is not followed again, and a
    program that calls more often than any real one is not followed to its end.
    A call with another number of arguments than the function has is not followed.
    """
    bodies: list[tuple[Iterable[Node], Outer]] = [(needed_by(ends), {})]
    followed: set[tuple[str, tuple[Value, ...]]] = set()
    steps = 0
    for nodes, outer in bodies:  # grows while we walk it
        for node in nodes:
            yield node, outer
            function = callee(node)
            if function is None or steps >= MOST_STEPS or _arity(function) != len(node.inputs):
                continue
            passed = tuple(outer.get(v, v) for v in node.inputs)
            if (function.name, passed) not in followed:
                followed.add((function.name, passed))
                steps += len(function) + len(passed)
                bodies.append((function, dict(zip(function.arguments, passed, strict=True))))


def _arity(function: Function) -> int:
    """How many tensors a function takes, without making them."""
    return sum(arg.count(function.attrs) or 0 for arg in function.args.values())


def _origin(value: Value, outer: Outer) -> Node:
    """The node that made a value or holds it, behind arguments and what only carries it."""
    for _ in range(_DEEPEST):
        value = outer.get(value, value)
        if value.node.op not in _CARRY or not value.node.inputs:
            break
        value = value.node.inputs[0]
    return value.node


def _restored(model: Model) -> Iterator[tuple[Node, tuple[str, str]]]:
    """Each variable's node with the name and slice of the checkpoint tensor that it gets."""
    for node, outer in _steps(model.restore_nodes):
        if node.op in _RESTORES:
            names, parts = (_strings(node, place, outer) for place in _RESTORES[node.op])
            for index, name in enumerate(names):
                part = parts[index] if index < len(parts) else ""
                for variable in _assigned(node.output(index), outer):
                    yield variable, (name, part)


def _strings(node: Node, place: int | None, outer: Outer) -> list[str]:
    """The strings that a node reads at a place, where they are constant."""
    if place is None or place >= len(node.inputs):
        return []
    value = outer.get(node.inputs[place], node.inputs[place])
    tensor = constant(value)
    try:
        return [s.decode(errors="replace") for s in tensor.strings()] if tensor is not None else []
    except UnreadableFile:  # a constant, but none of strings
        return []


def _assigned(value: Value, outer: Outer, depth: int = 0) -> Iterator[Node]:
    """The variables that a value is assigned to."""
    for user in value.uses:
        if user.op in _ASSIGNS and len(user.inputs) == 2 and user.inputs[1] is value:
            yield _origin(user.inputs[0], outer)
        elif user.op in _PASSES and user.inputs[0] is value and depth < _DEEPEST:
            yield from _assigned(user.output(0), outer, depth + 1)
