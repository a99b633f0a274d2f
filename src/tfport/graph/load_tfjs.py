"""Load a TensorFlow.js graph model: its weights and its initializer become part of the graph.

A constant that has neither a value nor a weight is an error: reading it would give zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.format import ModelLocation
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.tfjs.read import TfjsModel, read_tfjs
from tfport.formats.tfjs.weights import TfjsWeights
from tfport.graph.build import graph_from_def
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.model import MAIN_OP, Model
from tfport.graph.op_signature import OpTable
from tfport.graph.reach import every_node
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNATURE = "serving_default"
_STORED_AS = {
    DType.parse(declared): DType.parse(stored)
    for declared, stored in (
        ("float16", "float32"),
        ("float64", "float32"),
        ("int64", "int32"),
        ("complex128", "complex64"),
    )
}
"""The types that TensorFlow.js does not have, and those that its converter stores them as."""


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
    made_by = ", ".join(filter(None, (file.generated_by, file.converted_by)))
    model = Model(location.where, location.format, location.files, graph, meta, written_by=made_by)
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
    names = {node.name for node in both.node}
    both.node.extend(node for node in file.initializer.node if node.name not in names)
    functions = {function.signature.name for function in both.library.function}
    both.library.function.extend(
        function for function in file.initializer.library.function if function.signature.name not in functions
    )
    read = {name.lstrip("^").partition(":")[0] for node in file.initializer.node for name in node.input}
    ends = [node.name for node in file.initializer.node if node.name not in read]
    meta.collection_def[MAIN_OP].node_list.value.extend(ends)
    return both


def _bind_captures(graph: Graph, file: TfjsModel, signatures: Mapping[str, pb.SignatureDef]) -> None:
    """Replace the inputs that callers do not pass by the results of the initializer."""
    if file.initializer_signature is None or file.initializer is None:
        return
    for name, output in file.captured.items():
        fed = signatures[SIGNATURE].inputs[name].name
        graph.value(fed).replace_by(graph.value(file.initializer_signature.outputs[output].name))
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
    if stored not in (dtype, _STORED_AS.get(dtype)):
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
