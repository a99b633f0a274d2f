"""Load a TensorFlow.js graph model: its weights and its initializer become part of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfport.formats.format import ModelLocation
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.tfjs.read import TfjsModel, read_tfjs
from tfport.graph.build import graph_from_def
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph
from tfport.graph.model import MAIN_OP, Model
from tfport.graph.op_signature import OpTable
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNATURE = "serving_default"


def load_tfjs(location: ModelLocation, ops: OpTable) -> Model:
    """Load the model at a location."""
    file = read_tfjs(location.files, location.name)
    meta = pb.MetaGraphDef()
    if file.signature is not None:
        meta.signature_def[SIGNATURE].CopyFrom(file.signature)
    graph = graph_from_def(_with_initializer(file, meta), ops)
    _bind_weights(graph, file)
    _bind_captures(graph, file, meta.signature_def)
    made_by = ", ".join(filter(None, (file.generated_by, file.converted_by)))
    return Model(location.where, location.format, location.files, graph, meta, written_by=made_by)


def _with_initializer(file: TfjsModel, meta: pb.MetaGraphDef) -> graph_pb2.GraphDef:
    """The graph and the initializer as one graph; the ends of the initializer run at load."""
    if file.initializer is None:
        return file.graph
    both = graph_pb2.GraphDef()
    both.CopyFrom(file.graph)
    names = {node.name for node in both.node}
    both.node.extend(node for node in file.initializer.node if node.name not in names)
    read = {name.lstrip("^").partition(":")[0] for node in file.initializer.node for name in node.input}
    ends = [node.name for node in file.initializer.node if node.name not in read]
    meta.collection_def[MAIN_OP].node_list.value.extend(ends)
    return both


def _bind_captures(graph: Graph, file: TfjsModel, signatures: Mapping[str, pb.SignatureDef]) -> None:
    """Replace the inputs that callers do not pass by the results of the initializer."""
    if file.initializer_signature is None or file.initializer is None:
        return
    for name, made in file.captured.items():
        fed = signatures[SIGNATURE].inputs[name].name
        graph.value(fed).replace_by(graph.value(file.initializer_signature.outputs[made].name))
        del signatures[SIGNATURE].inputs[name]


def _bind_weights(graph: Graph, file: TfjsModel) -> None:
    """Set the values of Const nodes, which TF.js stores beside the graph by node name."""
    for name in file.weights.names():
        node = graph.find(name)
        if node is not None and node.op == "Const":
            entry = file.weights.entry(name)
            stored = DType.of(entry.dtype)
            dtype = node.attrs.get("dtype")
            dtype = dtype if isinstance(dtype, DType) else stored
            node.attrs["value"] = Tensor(dtype, Shape(entry.shape), load=_Weight(file, name, dtype))


class _Weight:
    """Reads a weight when called. The file may have a narrower type than the graph: int32 for int64."""

    def __init__(self, file: TfjsModel, name: str, dtype: DType) -> None:
        self.file, self.name, self.dtype = file, name, dtype

    def __call__(self) -> NDArray[Any]:
        return self.file.weights.read(self.name).astype(self.dtype.numpy, copy=False)
