"""The variables of a model and the tensors of its checkpoint that fill them, by whatever way it says so."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphVariable, variables
from tfport.runtime.object_restore import checkpoint_keys

DATA = tuple[str, tuple[object, ...]]
"""A name, and an array with its DataType, as checkpoints are written."""


def held_variables(model: Model) -> dict[Node, GraphVariable]:
    """Each variable of the main graph that the checkpoint fills: by the restore op, or by the objects."""
    found = variables(model)
    if (
        any(one.key is None for one in found)
        and model.checkpoint is not None
        and model.meta.object_graph_def.nodes
    ):
        by_name = checkpoint_keys(model)
        found = [one if one.key else replace(one, key=by_name.get(one.name)) for one in found]
    return {one.node: one for one in found if _is_held(model, one)}


def _is_held(model: Model, variable: GraphVariable) -> bool:
    """Whether the checkpoint has its tensor; names of objects may be those of other variables."""
    checkpoint, key = model.checkpoint, variable.key
    if checkpoint is None or key is None or key not in checkpoint:
        return False
    entry = checkpoint.entry(key)
    fits = variable.slice or variable.shape.fits(Shape(tuple(entry.shape)))
    return entry.dtype == variable.dtype.base.number and bool(fits)


def tensors(model: Model, keys: Collection[str]) -> Iterator[DATA]:
    """The tensors of these names, read one at a time and let go."""
    checkpoint = model.checkpoint
    if checkpoint is None:
        return
    for key in sorted(keys):
        yield key, (checkpoint.read(key), checkpoint.entry(key).dtype)
        checkpoint.release_memory()
