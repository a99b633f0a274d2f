"""Save a model as files that TensorFlow reads, with its current graph.

Variables and assets are copied unchanged. The fingerprint is left out, as it belongs
to the original graph.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tfport.errors import Error
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.checkpoint.write import Tensors, write_bundle
from tfport.formats.format import ModelFormat
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.output import copy_file, copy_folder, new_path
from tfport.formats.saved_model.read import VARIABLES
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.formats.tfjs.signature import TFJS
from tfport.graph.convert import as_saved_model
from tfport.graph.load import SERVE
from tfport.graph.model import Model, checkpoint_files
from tfport.graph.serialize import Bytes, graph_def_bytes, meta_graph_bytes, saved_model_bytes

ASSET_FOLDERS = ("assets", "assets.extra")
FILES = ("keras_metadata.pb",)


def save_model(model: Model, path: str | os.PathLike[str], tensors: Tensors | None = None) -> None:
    """Write a model: a SavedModel folder, a MetaGraph with its checkpoint, or a GraphDef.

    A Keras model becomes a SavedModel, and so does a TensorFlow.js model with a signature; without one it
    becomes a GraphDef. `tensors` replace the checkpoint; if they are empty, no checkpoint is written.
    """
    if model.format is CHECKPOINT:
        raise Error(f"{model.where}: a checkpoint has no graph to write")
    if written_format(model) is SAVED_MODEL:
        with new_path(path) as folder:
            _saved_model(as_saved_model(model), folder, tensors)
    elif model.format is META_GRAPH:
        _meta_graph_files(model, Path(path), tensors)
    else:
        with new_path(path) as file:
            _write(file, graph_def_bytes(model.graph, path))


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
