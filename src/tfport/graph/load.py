"""Load a model of any format as a `Model`: a program with its signatures and state.

Weights are not read. A new format needs a row in `_LOADERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.format import ModelFormat, ModelLocation
from tfport.formats.graph_def.read import read_graph_def, read_meta_graph
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.read import VARIABLES, SavedModelFile, read_saved_model
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.tfjs.signature import TFJS
from tfport.graph.build import graph_from_def
from tfport.graph.graph import Graph
from tfport.graph.model import Model
from tfport.graph.op_signature import OpDefs, OpTable
from tfport.startup.garbage import gc_paused

SERVE = "serve"
META = ".meta"


@gc_paused()
def load_model(location: ModelLocation, definitions: OpDefs, tags: Iterable[str] | None = None) -> Model:
    """Load the model at a location; `tags` choose one of several MetaGraphs."""
    wanted = (tags,) if isinstance(tags, str) else tags
    chosen = None if wanted is None else tuple(sorted(set(wanted)))
    return _LOADERS[location.format](location, OpTable(definitions), chosen)


def _saved_model(location: ModelLocation, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    file = read_saved_model(location.files, location.name)
    meta = _chosen(file, tags, location.where)
    model = _model(location, meta, ops)
    model.tag_sets = file.tag_sets()
    model.asked_tags = tags is not None
    model.fingerprint = file.fingerprint
    model.checkpoint_prefix = VARIABLES
    return model


def _chosen(file: SavedModelFile, tags: tuple[str, ...] | None, where: str) -> pb.MetaGraphDef:
    """The MetaGraph with exactly these tags; without tags, the one for serving or the first."""
    sets = file.tag_sets()
    if tags is None:
        return file.proto.meta_graphs[sets.index((SERVE,)) if (SERVE,) in sets else 0]
    if tags not in sets:
        existing = " and ".join("{" + ", ".join(t) + "}" for t in sets)
        raise UnreadableFile(f"{where}: no MetaGraph has the tags {{{', '.join(tags)}}}; expected {existing}")
    return file.proto.meta_graphs[sets.index(tags)]


def _meta_graph(location: ModelLocation, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    model = _model(location, read_meta_graph(location.files, location.name), ops)
    if location.name.endswith(META):  # with another name, nothing says where its variables are
        model.checkpoint_prefix = location.name.removesuffix(META)
    return model


def _graph_def(location: ModelLocation, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    graph = graph_from_def(read_graph_def(location.files, location.name), ops)
    return Model(location.where, location.format, location.files, graph, pb.MetaGraphDef())


def _checkpoint(location: ModelLocation, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    model = Model(location.where, location.format, location.files, Graph(ops), pb.MetaGraphDef())
    model.checkpoint_prefix = location.name
    return model


def _tfjs(location: ModelLocation, ops: OpTable, tags: tuple[str, ...] | None) -> Model:
    from tfport.graph.load_tfjs import load_tfjs  # imported here, as few models need it

    return load_tfjs(location, ops)


def _model(location: ModelLocation, meta: pb.MetaGraphDef, ops: OpTable) -> Model:
    graph = graph_from_def(meta.graph_def, ops)
    meta.ClearField("graph_def")  # not stored twice
    return Model(location.where, location.format, location.files, graph, meta)


_LOADERS: dict[ModelFormat, Callable[[ModelLocation, OpTable, tuple[str, ...] | None], Model]] = {
    SAVED_MODEL: _saved_model,
    META_GRAPH: _meta_graph,
    GRAPH_DEF: _graph_def,
    CHECKPOINT: _checkpoint,
    TFJS: _tfjs,
}
