"""Take any TensorFlow model to any runtime.

    model = tfport.load("export/1")
    print(tfport.inspect(model))

Nothing here needs TensorFlow, and nothing of a model is executed to look at it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tfport.errors import Error, MalformedGraph, MissingTensor, NotAModel, UnreadableFile

if TYPE_CHECKING:
    from tfport.check.inspection import Inspection
    from tfport.formats.recognise import Source
    from tfport.graph.model import Model

__all__ = [
    "Error", "MalformedGraph", "MissingTensor", "NotAModel", "UnreadableFile",
    "inspect", "load", "save",
]  # fmt: skip


def load(source: Source, *, tags: Iterable[str] | None = None) -> Model:
    """Read a model: a path, the bytes of a GraphDef, or an open file. Its weights stay where they are.

    `tags` choose a MetaGraph of a SavedModel that has several; the one for serving is the default.
    """
    from tfport.atlas.known_ops import known_ops
    from tfport.formats.recognise import find_model
    from tfport.graph.load import load_model

    return load_model(find_model(source), known_ops(), tags)


def inspect(model: Model | Source) -> Inspection:
    """Say what is in a model: `str(…)` for people, `.to_json()` for programs."""
    from tfport.atlas.known_ops import known_ops
    from tfport.check.inspection import inspect_model
    from tfport.graph.model import Model

    return inspect_model(model if isinstance(model, Model) else load(model), known_ops())


def save(model: Model, path: str) -> None:
    """Write a model where nothing is yet: a SavedModel folder, or a GraphDef where it was one."""
    from tfport.graph.save import save_model

    save_model(model, path)
