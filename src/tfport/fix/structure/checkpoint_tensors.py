"""The variables of a model, and the tensors of its checkpoint that restore them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphVariable, variables
from tfport.runtime.restore.object_restore import checkpoint_keys
from tfport.startup.dataclass import replace

DATA = tuple[str, tuple[object, ...]]
"""A name, and an array with its DataType number."""


def restored_variables(model: Model) -> dict[Node, GraphVariable]:
    """The variables of the main graph that the checkpoint restores, by the restore op or the object graph."""
    known = variables(model)
    if (
        any(variable.key is None for variable in known)
        and model.checkpoint is not None
        and model.meta.object_graph_def.nodes
    ):
        by_object = checkpoint_keys(model)
        known = [
            variable if variable.key else replace(variable, key=by_object.get(variable.name))
            for variable in known
        ]
    return {variable.node: variable for variable in known if _is_in_checkpoint(model, variable)}


def _is_in_checkpoint(model: Model, variable: GraphVariable) -> bool:
    """Whether the checkpoint has a matching tensor; names of objects may belong to other variables."""
    checkpoint, key = model.checkpoint, variable.key
    if checkpoint is None or key is None or key not in checkpoint:
        return False
    entry = checkpoint.entry(key)
    fits = variable.slice or variable.shape.fits(Shape(tuple(entry.shape)))
    return entry.dtype == variable.dtype.base.number and bool(fits)


def tensors(model: Model, keys: Collection[str]) -> Iterator[DATA]:
    """Read the tensors of these names, one at a time."""
    checkpoint = model.checkpoint
    if checkpoint is None:
        return
    for key in sorted(keys):
        yield key, (checkpoint.read(key), checkpoint.entry(key).dtype)
        checkpoint.release_memory()
