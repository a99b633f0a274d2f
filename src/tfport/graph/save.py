"""Model to files that TensorFlow reads: what `load` read, with the graph as it is now.

Variables and assets are copied as they are. A fingerprint is left out: it would
be that of another graph.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from google.protobuf.message import EncodeError, Message

from tfport.errors import Error
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.checkpoint.write import Tensors, write_bundle
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.output import copy_file, copy_folder, new_path
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.read import SCHEMA, VARIABLES
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model, checkpoint_files

OTHER_FOLDERS = ("assets", "assets.extra")
FOLDERS = ("variables", *OTHER_FOLDERS)
FILES = ("keras_metadata.pb",)


def save_model(model: Model, path: str | os.PathLike[str], tensors: Tensors | None = None) -> None:
    """Write a model: a SavedModel folder, a MetaGraph beside its checkpoint, else a GraphDef.

    `tensors` are written instead of the checkpoint as it is; where there are none, no checkpoint is.
    """
    if model.format is CHECKPOINT:
        raise Error(f"{model.where}: a checkpoint has no graph to write")
    if model.format is SAVED_MODEL:
        with new_path(path) as folder:
            _saved_model(model, folder, tensors)
    elif model.format is META_GRAPH:
        _meta_graph_files(model, Path(path), tensors)
    else:
        with new_path(path) as file:
            file.write_bytes(_serialised(graph_to_def(model.graph), path))


def meta_graph(model: Model) -> pb.MetaGraphDef:
    """The model as one MetaGraph."""
    meta = pb.MetaGraphDef()
    meta.CopyFrom(model.meta)
    meta.graph_def.CopyFrom(graph_to_def(model.graph))
    return meta


def _saved_model(model: Model, folder: Path, tensors: Tensors | None) -> None:
    folder.mkdir()
    proto = pb.SavedModel(saved_model_schema_version=SCHEMA, meta_graphs=[meta_graph(model)])
    (folder / "saved_model.pb").write_bytes(_serialised(proto, model.where))
    files, folders = model.files.list()
    for name in FOLDERS if tensors is None else OTHER_FOLDERS:
        if name in folders:
            copy_folder(model.files, name, folder / name)
    if tensors is not None:
        _checkpoint(folder / VARIABLES, tensors)
    for name in FILES if model.meta.HasField("object_graph_def") else ():
        if name in files:
            copy_file(model.files, name, folder / name)


def _checkpoint(prefix: Path, tensors: Tensors) -> None:
    """Write the tensors, where there are any."""
    pairs = iter(tensors.items() if isinstance(tensors, Mapping) else tensors)
    first = next(pairs, None)
    if first is not None:
        write_bundle(prefix, itertools.chain([first], pairs))


def _meta_graph_files(model: Model, path: Path, tensors: Tensors | None) -> None:
    """`PATH.meta`, and the checkpoint under the prefix `PATH`."""
    prefix = Path(str(path).removesuffix(".meta"))
    held = model.checkpoint_prefix
    with ExitStack() as together:
        for name, end in checkpoint_files(model.files, held) if held and tensors is None else ():
            copy_file(model.files, name, together.enter_context(new_path(f"{prefix}{end}")))
        if tensors is not None:
            _checkpoint(prefix, tensors)
        file = together.enter_context(new_path(f"{prefix}.meta"))
        file.write_bytes(_serialised(meta_graph(model), path))


def _serialised(message: Message, where: object) -> bytes:
    try:
        return message.SerializeToString(deterministic=True)
    except (EncodeError, ValueError):  # what the parser would not read either
        raise Error(f"{where}: nested too deep, or larger than the 2 GiB of a message") from None
