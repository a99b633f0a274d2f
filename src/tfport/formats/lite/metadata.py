"""What a TensorFlow Lite file says about itself: the oldest runtime, its description, and packed files."""

from __future__ import annotations

from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.lite.flatbuffer import FlatbufferReader
from tfport.formats.lite.records import LiteFile
from tfport.formats.lite.schema import metadata_schema
from tfport.startup.dataclass import dataclass

MIN_RUNTIME = "min_runtime_version"
DESCRIPTION = "TFLITE_METADATA"
MOST_TEXT = 64


@dataclass(frozen=True, slots=True)
class LiteMetadata:
    """The metadata of a file; empty where it has none."""

    min_runtime_version: str
    """What the converter computed from the versions of the ops; no runtime enforces it."""
    names: tuple[str, ...]
    """The names of all entries."""
    model: dict[str, Any]
    """The description by TensorFlow Lite Support: name, author, license, tensors, associated files."""
    problem: str = ""
    """Why the description could not be read."""


def lite_metadata(file: LiteFile) -> LiteMetadata:
    """The metadata of a file; damaged metadata is a problem, not an error, as runtimes ignore it."""
    entries = {name: bytes(file.buffers[at]) for name, at in file.metadata if at < len(file.buffers)}
    oldest = entries.get(MIN_RUNTIME, b"")[:MOST_TEXT].split(b"\0")[0].decode("ascii", "replace")
    model: dict[str, Any] = {}
    problem = ""
    if description := entries.get(DESCRIPTION):
        try:
            view = memoryview(description)
            model = FlatbufferReader(view, metadata_schema(), f"{file.where}: its metadata").root(
                "ModelMetadata"
            )
        except UnreadableFile as error:
            problem = str(error)
    return LiteMetadata(oldest, tuple(name for name, _ in file.metadata), model, problem)


def associated_files(model: dict[str, Any]) -> list[str]:
    """The files that the description names, such as labels; they are packed at the end of the model file."""
    tables = [model, *model.get("subgraph_metadata", ())]
    for graph in model.get("subgraph_metadata", ()):
        tables += [*graph.get("input_tensor_metadata", ()), *graph.get("output_tensor_metadata", ())]
    names = [file.get("name", "") for table in tables for file in table.get("associated_files", ())]
    return list(dict.fromkeys(filter(None, names)))
