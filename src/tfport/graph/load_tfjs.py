"""Load a TensorFlow.js graph model: its weights and its initializer become part of the graph.

A constant that has neither a value nor a weight is an error: reading it would give zeros.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.archive.archive import Archive, WithArchive, tree_of
from tfport.formats.archive.open import archive_entries
from tfport.formats.files import Files
from tfport.formats.format import ModelLocation
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.read import ASSETS
from tfport.formats.tfjs.read import TfjsModel, read_tfjs
from tfport.formats.tfjs.weights import STORED_AS, TfjsWeights
from tfport.graph.build import graph_from_def
from tfport.graph.dtypes import STRING, DType
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.model import MAIN_OP, Model
from tfport.graph.op_signature import OpTable
from tfport.graph.reach import every_node
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNATURE = "serving_default"
LOADS_FOREST = "SimpleMLLoadModelFromPath"
ASSETS_ARCHIVE = "assets.zip"
"""Where the package `@tensorflow/tfjs-tfdf` finds the files of a forest."""


def load_tfjs(location: ModelLocation, ops: OpTable) -> Model:
    """Load the model at a location."""
    file = read_tfjs(location.files, location.name)
    meta = pb.MetaGraphDef()
    if file.signature is not None:
        meta.signature_def[SIGNATURE].CopyFrom(_with_tensor_names(file.signature))
    graph = graph_from_def(_with_initializer(file, meta), ops)
    if file.signature is not None:
        _complete(meta.signature_def[SIGNATURE], graph)
    _bind_weights(graph, file.weights)
    _bind_captures(graph, file, meta.signature_def)
    files = _with_assets(graph, location, meta)
    made_by = ", ".join(filter(None, (file.generated_by, file.converted_by)))
    model = Model(location.where, location.format, files, graph, meta, written_by=made_by)
    model.weights = file.weights
    return model


def _with_tensor_names(signature: pb.SignatureDef) -> pb.SignatureDef:
    """Write `x:0` for `x`: TensorFlow.js accepts the name of a node."""
    for info in (*signature.inputs.values(), *signature.outputs.values()):
        if info.name and ":" not in info.name:
            info.name += ":0"
    return signature


def _complete(signature: pb.SignatureDef, graph: Graph) -> None:
    """Add what a file may leave out: TensorFlow.js takes the inputs (placeholders) and types of the graph."""
    if not signature.inputs:
        for node in graph:
            if node.op == "Placeholder":
                signature.inputs[node.name].name = f"{node.name}:0"
    for info in (*signature.inputs.values(), *signature.outputs.values()):
        named = graph.find(info.name.removesuffix(":0"))
        if info.dtype or named is None or not named.may_have(0):
            continue
        value = named.output(0)
        info.dtype = value.dtype.number  # type: ignore[assignment]
        info.tensor_shape.CopyFrom(value.shape.to_proto())


def _with_initializer(file: TfjsModel, meta: pb.MetaGraphDef) -> graph_pb2.GraphDef:
    """The graph and the initializer as one graph; the ends of the initializer run at load."""
    if file.initializer is None:
        return file.graph
    both = graph_pb2.GraphDef()
    both.CopyFrom(file.graph)
    _rename_others(file)
    names = {node.name for node in both.node}
    both.node.extend(node for node in file.initializer.node if node.name not in names)
    functions = {function.signature.name for function in both.library.function}
    both.library.function.extend(
        function for function in file.initializer.library.function if function.signature.name not in functions
    )
    read = {name.lstrip("^").partition(":")[0] for node in file.initializer.node for name in node.input}
    ends = [node.name for node in file.initializer.node if node.name not in read]
    if len(ends) > 1:  # TensorFlow's loader takes one
        waits = [f"^{name}" for name in ends]
        ends = [_free_name("initializer", {node.name for node in both.node})]
        both.node.add(name=ends[0], op="NoOp", input=waits)
    meta.collection_def[MAIN_OP].node_list.value.extend(ends)
    return both


def _free_name(name: str, taken: Container[str]) -> str:
    names = (f"{name}{number or ''}" for number in itertools.count())
    return next(name for name in names if name not in taken)


def _rename_others(file: TfjsModel) -> None:
    """Rename nodes of the initializer that have the name of another node in the graph.

    A table in both is the same one, and so is a constant, whose weight has that name.
    """
    assert file.initializer is not None
    main = {node.name: node for node in file.graph.node}
    taken = main.keys() | {node.name for node in file.initializer.node}
    new: dict[str, str] = {}
    for node in file.initializer.node:
        if node.name in main and not _is_same(node, main[node.name]):
            new[node.name] = _free_name(f"{node.name}/initializer", taken)
    for node in file.initializer.node if new else ():
        node.name = new.get(node.name, node.name)
        for index, read in enumerate(node.input):
            name, colon, output = read.removeprefix("^").partition(":")
            node.input[index] = f"{'^' * read.startswith('^')}{new.get(name, name)}{colon}{output}"
    if file.initializer_signature is not None:
        for info in file.initializer_signature.outputs.values():
            name, colon, output = info.name.partition(":")
            info.name = f"{new.get(name, name)}{colon}{output}"


def _is_same(node: graph_pb2.NodeDef, other: graph_pb2.NodeDef) -> bool:
    read, other_read = ([name for name in n.input if not name.startswith("^")] for n in (node, other))
    return node.op == other.op and read == other_read


def _with_assets(graph: Graph, location: ModelLocation, meta: pb.MetaGraphDef) -> Files:
    """The files of the model, with `assets.zip` as the folder of the assets that a decision forest needs."""
    loads = [node for node in graph if node.op.startswith(LOADS_FOREST)]
    if not loads:
        return location.files
    for node in loads:
        path = _constant_behind(node.inputs[-1].node)
        if path is not None and (value := path.attrs["value"]).dtype == STRING:
            file = posixpath.basename(bytes(value.numpy().item()).decode(errors="replace"))
            meta.asset_file_def.add(filename=file).tensor_info.name = f"{path.name}:0"
    name = posixpath.join(posixpath.dirname(location.name), ASSETS_ARCHIVE)
    if not location.files.has(name):
        return location.files
    where = location.files.label(name)
    entries = archive_entries(location.files.map(name), where)
    if entries is None:
        raise UnreadableFile(f"{where}: expected a zip file with the decision forest of the model")
    return WithArchive(location.files, ASSETS, Archive(where, tree_of(entries, where)))


def _constant_behind(node: Node) -> Node | None:
    """The constant that a path is computed from."""
    for _ in range(100):
        if node.op == "Const":
            return node
        if node.op not in ("Identity", "StaticRegexReplace"):
            return None
        node = node.inputs[0].node
    return None


def _bind_captures(graph: Graph, file: TfjsModel, signatures: Mapping[str, pb.SignatureDef]) -> None:
    """Replace the inputs that callers do not pass by the results of the initializer."""
    if file.initializer_signature is None or file.initializer is None:
        return
    for name, output in file.captured.items():
        fed = signatures[SIGNATURE].inputs[name].name
        resource = graph.value(file.initializer_signature.outputs[output].name)
        while resource.node.op == "Identity":  # which waits for what fills the resource, at each call
            resource = resource.node.inputs[0]
        graph.value(fed).node.replace_by([resource], [])
        del signatures[SIGNATURE].inputs[name]


def _bind_weights(graph: Graph, weights: TfjsWeights) -> None:
    """Set the values of constants, which TF.js stores beside the graph by node name.

    Names are unique in the whole model: the converter prefixes the constants of a function
    with its name.
    """
    unset: list[Node] = []
    for node in every_node(graph):
        if node.op != "Const":
            continue
        if node.name in weights:
            node.attrs["value"] = _bound(node, weights)
        elif not isinstance(value := node.attrs.get("value"), Tensor) or value.is_stripped:
            unset.append(node)
    if unset:
        more = f" and {len(unset) - 1} more" if len(unset) > 1 else ""
        raise UnreadableFile(
            f"{weights.where}: the weights manifest has no weight for the constant {_shown(unset[0])}{more}; "
            "copy all files of the model again, or convert it again"
        )


def _shown(node: Node) -> str:
    graph = node.graph
    return f"`{node.name}`" + (f" of the function `{graph.name}`" if isinstance(graph, Function) else "")


def _bound(node: Node, weights: TfjsWeights) -> Tensor:
    """The tensor of a constant, read from its weight on request."""
    entry = weights.entry(node.name)
    stored, shape = DType.of(entry.dtype), Shape(entry.shape)
    declared, value = node.attrs.get("dtype"), node.attrs.get("value")
    dtype = declared if isinstance(declared, DType) else stored
    wanted = value.shape if isinstance(value, Tensor) else shape
    if stored.name not in (dtype.name, STORED_AS.get(dtype.name)):
        raise _misfit(node, weights, f"is {stored}, its node {dtype}")
    if not shape.fits(wanted):
        raise _misfit(node, weights, f"has the shape {shape}, its node {wanted}")
    return Tensor(dtype, shape, load=_Weight(weights, node.name, dtype))


def _misfit(node: Node, weights: TfjsWeights, misfit: str) -> UnreadableFile:
    cause = "graph and weights belong to two models; convert the model again"
    return UnreadableFile(f"{weights.where}: the weight {_shown(node)} {misfit}; {cause}")


class _Weight:
    """Reads a weight when called, and converts it to the type of its node."""

    def __init__(self, weights: TfjsWeights, name: str, dtype: DType) -> None:
        self.weights, self.name, self.dtype = weights, name, dtype

    def __call__(self) -> NDArray[Any]:
        return self.weights.read(self.name).astype(self.dtype.numpy, copy=False)
