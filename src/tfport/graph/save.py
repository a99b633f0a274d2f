"""Model to files that TensorFlow reads: what `load` read, with the graph as it is now.

Variables and assets are copied as they are. A fingerprint is left out: it would
be that of another graph.
"""

from __future__ import annotations

import os
from pathlib import Path

from tfport.errors import Error
from tfport.formats.kinds import Kind
from tfport.formats.output import copy_file, copy_folder, new_path
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model import SCHEMA
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model

FOLDERS = ("variables", "assets", "assets.extra")


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model: a SavedModel folder, a MetaGraph beside its checkpoint, else a GraphDef."""
    if model.kind is Kind.CHECKPOINT:
        raise Error(f"{model.where}: a checkpoint has no graph to write")
    if model.kind is Kind.SAVED_MODEL:
        with new_path(path) as folder:
            _saved_model(model, folder)
    elif model.kind is Kind.META_GRAPH:
        _meta_graph_files(model, Path(path))
    else:
        with new_path(path) as file:
            file.write_bytes(graph_to_def(model.graph).SerializeToString(deterministic=True))


def meta_graph(model: Model) -> pb.MetaGraphDef:
    """The model as one MetaGraph."""
    meta = pb.MetaGraphDef()
    meta.CopyFrom(model.meta)
    meta.graph_def.CopyFrom(graph_to_def(model.graph))
    return meta


def _saved_model(model: Model, folder: Path) -> None:
    folder.mkdir()
    proto = pb.SavedModel(saved_model_schema_version=SCHEMA, meta_graphs=[meta_graph(model)])
    (folder / "saved_model.pb").write_bytes(proto.SerializeToString(deterministic=True))
    there = model.files.list()[1]
    for name in FOLDERS:
        if name in there:
            copy_folder(model.files, name, folder / name)


def _meta_graph_files(model: Model, path: Path) -> None:
    """`PATH.meta`, and the checkpoint under the prefix `PATH`."""
    prefix = Path(str(path).removesuffix(".meta"))
    folder, _, base = (model.checkpoint_prefix or "").rpartition("/")
    for name in model.files.list(folder)[0]:
        end = name.removeprefix(base)
        if name.startswith(base) and end.startswith((".index", ".data-", "-0")):
            with new_path(f"{prefix}{end}") as copy:
                copy_file(model.files, f"{folder}/{name}".lstrip("/"), copy)
    with new_path(f"{prefix}.meta") as file:
        file.write_bytes(meta_graph(model).SerializeToString(deterministic=True))
