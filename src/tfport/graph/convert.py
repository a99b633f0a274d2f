"""Convert a model to the formats that TensorFlow loads: a SavedModel, or one GraphDef.

Only what surrounds the graph changes. A model without signatures gets one for the outputs that the user
fetches, or for the guessed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from tfport.errors import Error
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.files import MemoryFiles
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.graph_outputs import graph_outputs
from tfport.graph.load import SERVE
from tfport.graph.model import Model, Signature

DEFAULT_SIGNATURE, PREDICT = "serving_default", "tensorflow/serving/predict"


def as_saved_model(model: Model, fetches: Sequence[str] = (), feeds: Sequence[str] = ()) -> Model:
    """The model as a SavedModel with the signature `serving_default`, or with those that it has."""
    model.require_graph()
    if model.format is CHECKPOINT:
        raise Error(f"{model.where}: a checkpoint has no graph to export")
    if model.format is SAVED_MODEL and not fetches:
        return model
    meta = pb.MetaGraphDef()
    meta.CopyFrom(model.meta)
    outputs = graph_outputs(model, fetches, feeds)
    if outputs is not None:
        meta.signature_def.clear()
        meta.signature_def[DEFAULT_SIGNATURE].CopyFrom(_signature_def(outputs.signature))
    if not meta.signature_def:
        raise Error(f"{model.where}: has no outputs for a signature; name them with --fetch")
    for signature in meta.signature_def.values():
        _complete(signature)
    if SERVE not in meta.meta_info_def.tags:
        meta.meta_info_def.tags[:] = [SERVE]
    return _changed(model, SAVED_MODEL, meta)


def as_graph_def(model: Model) -> Model:
    """The graph of a model without files, for a model whose variables are constants."""
    return _changed(model, GRAPH_DEF, pb.MetaGraphDef())


def _changed(model: Model, model_format: object, meta: pb.MetaGraphDef) -> Model:
    """A plain `Model` in another format; its graph and its checkpoint are those of the original."""
    values = {field.name: getattr(model, field.name) for field in fields(Model)}
    has_files = model.checkpoint_prefix is not None or model.format is SAVED_MODEL
    files = model.files if has_files else MemoryFiles(model.where, {})
    tags = [tuple(meta.meta_info_def.tags)] if meta.meta_info_def.tags else []
    changes = {"format": model_format, "meta": meta, "files": files, "tag_sets": tags, "keras": None}
    return Model(**{**values, **changes, "fingerprint": None})


def _signature_def(signature: Signature) -> pb.SignatureDef:
    proto = pb.SignatureDef()
    for infos, specs in ((proto.inputs, signature.inputs), (proto.outputs, signature.outputs)):
        for name, spec in specs.items():
            info = infos[name]
            info.name, info.dtype = spec.tensors[0], spec.dtype.number  # type: ignore[assignment]
            info.tensor_shape.CopyFrom(spec.shape.to_proto())
    return proto


def _complete(signature: pb.SignatureDef) -> None:
    """Add the method and the shapes that servers need and other formats leave out."""
    signature.method_name = signature.method_name or PREDICT
    for info in (*signature.inputs.values(), *signature.outputs.values()):
        if not info.HasField("tensor_shape"):
            info.tensor_shape.unknown_rank = True
