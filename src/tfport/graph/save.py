"""Save a model as files that TensorFlow reads, with its current graph; convert it to a format that it loads.

Variables and assets are copied unchanged. The fingerprint is left out, because it belongs to the original
graph.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path

from tfport.errors import Error, UnreadableFile
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.checkpoint.write import Tensors, write_bundle
from tfport.formats.files import MemoryFiles
from tfport.formats.format import ModelFormat
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.output import copy_file, copy_folder, new_path
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.read import VARIABLES
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.tfjs.signature import TFJS
from tfport.graph.graph_outputs import graph_outputs
from tfport.graph.load import SERVE
from tfport.graph.model import Model, Signature, checkpoint_files, missing_checkpoint_files
from tfport.graph.serialize import Bytes, graph_def_bytes, meta_graph_bytes, saved_model_bytes
from tfport.graph.state import variables

ASSET_FOLDERS = ("assets", "assets.extra")
FILES = ("keras_metadata.pb",)


def save_model(model: Model, path: str | os.PathLike[str], tensors: Tensors | None = None) -> None:
    """Write a model: a SavedModel folder, a MetaGraph with its checkpoint, or a GraphDef.

    A Keras model becomes a SavedModel, and so does a TensorFlow.js model with a signature; without one it
    becomes a GraphDef. `tensors` replace the checkpoint; if they are empty, no checkpoint is written.
    """
    if model.format is CHECKPOINT:
        raise Error(f"{model.where}: a checkpoint has no graph to write")
    if tensors is None:
        require_checkpoint(model)
    if written_format(model) is SAVED_MODEL:
        with new_path(path) as folder:
            _saved_model(as_saved_model(model), folder, tensors)
    elif model.format is META_GRAPH:
        _meta_graph_files(model, Path(path), tensors)
    else:
        with new_path(path) as file:
            _write(file, graph_def_bytes(model.graph, path))


def require_checkpoint(model: Model, *, index: bool = False) -> None:
    """Raise an error for files of the checkpoint that are missing; for its index, only if asked."""
    needed = index and any(variable.key for variable in variables(model))
    for sentence in missing_checkpoint_files(model, needed=needed):
        raise UnreadableFile(sentence)


def written_format(model: Model) -> ModelFormat:
    """The format that a model is written in."""
    if model.keras is not None:
        return SAVED_MODEL
    if model.format is TFJS:
        return SAVED_MODEL if model.signatures else GRAPH_DEF
    return model.format


def written_tags(model: Model) -> list[str]:
    """The tags of the MetaGraph that is written; TensorFlow.js and Keras have none."""
    is_converted = written_format(model) is SAVED_MODEL and model.format is not SAVED_MODEL
    return [SERVE] if is_converted else list(model.tags)


def _saved_model(model: Model, folder: Path, tensors: Tensors | None) -> None:
    folder.mkdir()
    _write(folder / "saved_model.pb", saved_model_bytes(model, model.where))
    files, folders = model.files.list()
    for name in ASSET_FOLDERS:
        if name in folders:
            copy_folder(model.files, name, folder / name)
    if tensors is not None:
        _checkpoint(folder / VARIABLES, tensors)
    elif model.checkpoint_prefix is not None:
        for name, end in checkpoint_files(model.files, model.checkpoint_prefix):
            copy_file(model.files, name, folder / f"{VARIABLES}{end}")
    for name in FILES if model.meta.HasField("object_graph_def") else ():
        if name in files:
            copy_file(model.files, name, folder / name)


def _checkpoint(prefix: Path, tensors: Tensors) -> None:
    """Write the tensors, if there are any."""
    pairs = iter(tensors.items() if isinstance(tensors, Mapping) else tensors)
    first = next(pairs, None)
    if first is not None:
        write_bundle(prefix, itertools.chain([first], pairs))


def _meta_graph_files(model: Model, path: Path, tensors: Tensors | None) -> None:
    """Write `PATH.meta`, and the checkpoint with the prefix `PATH`."""
    prefix = Path(str(path).removesuffix(".meta"))
    old_prefix = model.checkpoint_prefix
    with ExitStack() as stack:
        for name, end in checkpoint_files(model.files, old_prefix) if old_prefix and tensors is None else ():
            copy_file(model.files, name, stack.enter_context(new_path(f"{prefix}{end}")))
        if tensors is not None:
            _checkpoint(prefix, tensors)
        file = stack.enter_context(new_path(f"{prefix}.meta"))
        _write(file, meta_graph_bytes(model, path))


def _write(path: Path, parts: Iterable[Bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(parts)


# Conversion to a SavedModel or one GraphDef: only what surrounds the graph changes

DEFAULT_SIGNATURE, PREDICT = "serving_default", "tensorflow/serving/predict"


def as_saved_model(model: Model, fetches: Sequence[str] = (), feeds: Sequence[str] = ()) -> Model:
    """The model as a SavedModel with the signatures that it has, or with `serving_default`.

    That one is for the outputs that the user fetches, or for the guessed ones of a model without signatures.
    """
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
    has_files = bool(model.checkpoint_prefix or model.meta.asset_file_def) or model.format is SAVED_MODEL
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
