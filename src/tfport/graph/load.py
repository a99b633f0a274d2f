"""Files to Model: whatever the format, one program with its signatures and state.

Nothing of the weights is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from tfport.errors import UnreadableFile
from tfport.formats.kinds import Kind
from tfport.formats.message import read_message
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.recognise import Found
from tfport.formats.saved_model import VARIABLES, SavedModelFile, read_saved_model
from tfport.graph.build import graph_from_def
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph
from tfport.graph.model import MAIN_OP, Model
from tfport.graph.shapes import Shape
from tfport.graph.signature import OpDefs, OpTable
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from tfport.formats.tfjs import TfjsModel

SERVE = "serve"
DEFAULT_SIGNATURE = "serving_default"


def load_model(found: Found, definitions: OpDefs, tags: Iterable[str] | None = None) -> Model:
    """The model in the files that were found; `tags` choose among several MetaGraphs."""
    return _LOADERS[found.kind](found, OpTable(definitions), None if tags is None else tuple(sorted(tags)))


def _saved_model(found: Found, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    file = read_saved_model(found.files, found.name)
    meta = _chosen(file, tags, found.where)
    model = _model(found, meta, ops)
    model.tag_sets = file.tag_sets()
    model.fingerprint = file.fingerprint
    model.checkpoint_prefix = VARIABLES if meta.saver_def.restore_op_name else None
    return model


def _chosen(file: SavedModelFile, tags: tuple[str, ...] | None, where: str) -> pb.MetaGraphDef:
    """The MetaGraph with exactly these tags; without any, the one for serving or the first."""
    sets = file.tag_sets()
    if tags is None:
        return file.proto.meta_graphs[sets.index((SERVE,)) if (SERVE,) in sets else 0]
    if tags not in sets:
        there = " and ".join("{" + ", ".join(t) + "}" for t in sets)
        raise UnreadableFile(f"{where}: no MetaGraph has the tags {{{', '.join(tags)}}}; there is {there}")
    return file.proto.meta_graphs[sets.index(tags)]


def _meta_graph(found: Found, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    model = _model(found, read_message(pb.MetaGraphDef, found.files, found.name), ops)
    model.checkpoint_prefix = found.name.removesuffix(".meta")
    return model


def _graph_def(found: Found, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    graph = graph_from_def(read_message(graph_pb2.GraphDef, found.files, found.name), ops)
    return Model(found.where, found.kind, found.files, graph, pb.MetaGraphDef())


def _checkpoint(found: Found, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    model = Model(found.where, found.kind, found.files, Graph(ops), pb.MetaGraphDef())
    model.checkpoint_prefix = found.name
    return model


def _tfjs(found: Found, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    from tfport.formats.tfjs import read_tfjs

    file = read_tfjs(found.files, found.name)
    meta = pb.MetaGraphDef()
    if file.signature is not None:
        meta.signature_def[DEFAULT_SIGNATURE].CopyFrom(file.signature)
    graph = graph_from_def(_with_initializer(file, meta), ops)
    _bind_weights(graph, file)
    _bind_captures(graph, file, meta.signature_def)
    made_by = ", ".join(filter(None, (file.generated_by, file.converted_by)))
    return Model(found.where, found.kind, found.files, graph, meta, written_by=made_by)


def _with_initializer(file: TfjsModel, meta: pb.MetaGraphDef) -> graph_pb2.GraphDef:
    """One graph of the two that the file has; what the second ends in runs when the model is loaded."""
    if file.initializer is None:
        return file.graph
    both = graph_pb2.GraphDef()
    both.CopyFrom(file.graph)
    there = {node.name for node in both.node}
    both.node.extend(node for node in file.initializer.node if node.name not in there)
    read = {name.lstrip("^").partition(":")[0] for node in file.initializer.node for name in node.input}
    ends = [node.name for node in file.initializer.node if node.name not in read]
    meta.collection_def[MAIN_OP].node_list.value.extend(ends)
    return both


def _bind_captures(graph: Graph, file: TfjsModel, signatures: Mapping[str, pb.SignatureDef]) -> None:
    """Inputs that no caller feeds become the initializer's results."""
    if file.initializer_signature is None or file.initializer is None:
        return
    for name, made in file.captured.items():
        fed = signatures[DEFAULT_SIGNATURE].inputs[name].name
        graph.value(fed).replace_by(graph.value(file.initializer_signature.outputs[made].name))
        del signatures[DEFAULT_SIGNATURE].inputs[name]


def _bind_weights(graph: Graph, file: TfjsModel) -> None:
    """TF.js keeps constants beside the graph, under the names of their nodes."""
    for name in file.weights.names():
        node = graph.find(name)
        if node is not None and node.op == "Const":
            entry = file.weights.entry(name)
            load = partial(file.weights.read, name)
            node.attrs["value"] = Tensor(DType.of(entry.dtype), Shape(entry.shape), load=load)


def _model(found: Found, meta: pb.MetaGraphDef, ops: OpTable) -> Model:
    graph = graph_from_def(meta.graph_def, ops)
    rest = pb.MetaGraphDef()
    rest.CopyFrom(meta)
    rest.ClearField("graph_def")
    return Model(found.where, found.kind, found.files, graph, rest)


_LOADERS: dict[Kind, Callable[[Found, OpTable, tuple[str, ...] | None], Model]] = {
    Kind.SAVED_MODEL: _saved_model,
    Kind.META_GRAPH: _meta_graph,
    Kind.GRAPH_DEF: _graph_def,
    Kind.CHECKPOINT: _checkpoint,
    Kind.TFJS: _tfjs,
}
