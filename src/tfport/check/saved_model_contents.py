"""Which optional parts a SavedModel has: a checkpoint, the objects of TensorFlow 2."""

from __future__ import annotations

from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model


def has_index(model: Model) -> bool:
    """Whether there is a checkpoint to restore; a SavedModel without an index counts as one without."""
    prefix = model.checkpoint_prefix
    if prefix is None or model.format is not SAVED_MODEL:
        return prefix is not None
    return model.files.has(f"{prefix}.index")


def has_objects(model: Model) -> bool:
    """Whether TensorFlow 2 saved it, with the objects that Python restores."""
    return model.meta.HasField("object_graph_def") and len(model.tag_sets) <= 1
