"""Which tensors of the checkpoint do not match the variables that they initialize.

Only the index of the checkpoint is read. The rules are those of TensorFlow: a restore op checks that
the tensor exists, its type, and the full shape of a slice; assigning it checks the shape of the variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tfport.formats.checkpoint.entry import CheckpointEntry
from tfport.formats.checkpoint.read import Checkpoint
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphVariable, RestoreSource, restored_nodes, variable_of
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RestoreMismatch:
    """A variable, and the tensor of the checkpoint that does not match it."""

    variable: GraphVariable
    key: str
    expected: str
    """Type and shape that the variable needs: `float32 (2, 3)`."""
    actual: str | None
    """Type and shape in the checkpoint; None if it has no such tensor."""
    only_shape: bool = False
    """Whether the types are the same."""

    def __str__(self) -> str:
        if self.actual is None:
            return f"there is no tensor `{self.key}` for variable `{self.variable.name}` ({self.expected})"
        return f"tensor `{self.key}` is {self.actual}, but variable `{self.variable.name}` is {self.expected}"


def restore_mismatches(model: Model) -> Iterator[RestoreMismatch]:
    """The mismatches of the variables that the restore op of a model assigns."""
    if model.checkpoint is None:
        return
    model.checkpoint.names()  # all at once: single lookups cost more
    for node, source in restored_nodes(model):
        if not fits(node, source, model.checkpoint):
            yield from mismatches_of(variable_of(node, source), source[0], model.checkpoint)


def fits(node: Node, source: RestoreSource, checkpoint: Checkpoint) -> bool:
    """Whether a whole tensor obviously has the type and shape of its variable, as almost all have."""
    key, part, stored, reshaped = source
    shape = node.attr("shape")
    if part or reshaped or not isinstance(shape, Shape) or key not in checkpoint:
        return False
    entry = checkpoint.entry(key)
    return DType.of(entry.dtype) == (stored or node.attr("dtype")) and entry.shape == shape.dims


def mismatches_of(variable: GraphVariable, key: str, checkpoint: Checkpoint) -> Iterator[RestoreMismatch]:
    """The mismatch between a variable and a tensor of a checkpoint, if there is one."""
    dtype, shape = variable.stored or variable.dtype, _whole(variable)
    if key not in checkpoint:
        yield RestoreMismatch(variable, key, f"{dtype} {shape}", None)
        return
    entry = checkpoint.entry(key)
    same_type = DType.of(entry.dtype) == dtype
    if not same_type or not _has_shape(entry, shape, variable.reshaped):
        actual = f"{DType.of(entry.dtype)} {Shape(entry.shape)}"
        yield RestoreMismatch(variable, key, f"{dtype} {shape}", actual, same_type)


def _whole(variable: GraphVariable) -> Shape:
    """The shape of the tensor; for a slice, the spec begins with it: `10 4 0,5:-`."""
    if not variable.slice:
        return variable.shape
    *sizes, _ = variable.slice.split(" ")
    return Shape(tuple(map(int, sizes))) if all(size.isdecimal() for size in sizes) else Shape()


def _has_shape(entry: CheckpointEntry, shape: Shape, reshaped: bool) -> bool:
    if reshaped:  # the saver was made with reshape=True: only the number of elements matters
        return shape.size is None or prod(entry.shape) == shape.size
    return entry.shape == shape.dims or Shape(entry.shape).fits(shape)
