"""What a model's restore op does: plain assignments, and tensors of the checkpoint that do not fit.

Only the index of the checkpoint is read, and no op is run. The rules are those of TensorFlow: a restore op
checks that the tensor exists, its type, and the full shape of a slice; assigning it checks the shape of the
variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tfport.formats.checkpoint.entry import CheckpointEntry
from tfport.formats.checkpoint.read import Checkpoint
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.inline import callee
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.state import (
    MOST_STEPS,
    GraphVariable,
    Outer,
    RestoreSource,
    arity,
    constant_strings,
    origin,
    restored_nodes,
    shared_name,
    steps_of,
    variable_of,
)
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
    if reshaped:  # the saver was created with reshape=True: only the number of elements matters
        return shape.size is None or prod(entry.shape) == shape.size
    return entry.shape == shape.dims or Shape(entry.shape).fits(shape)


# Plain restore ops: they only assign whole tensors of the checkpoint to variables, as most do

RESTORE = "RestoreV2"
ASSIGNS = {"AssignVariableOp": "VarHandleOp", "Assign": "VariableV2"}
"""The ops that assign, and the op of the variable that each takes."""
OTHERS = ("Const", "Identity", "NoOp", "Placeholder", "PlaceholderWithDefault", *ASSIGNS.values())
"""Ops that change nothing."""
PLAIN_OPS = frozenset((RESTORE, *ASSIGNS, *OTHERS))


def plain_restores(model: Model) -> dict[Node, RestoreSource] | None:
    """The variables that the restore op of a model assigns, with the tensor of each.

    None if the op does anything else, such as restoring slices, or tensors of another checkpoint.
    """
    file, size = model.meta.saver_def.filename_tensor_name.partition(":")[0], 0
    restored: dict[Node, RestoreSource] = {}
    tensors: dict[tuple[Node, int], list[RestoreSource]] = {}
    for node, outer in steps_of(model.restore_nodes):
        size += 1 + len(node.inputs)
        if node.op in ASSIGNS and len(node.inputs) == 2:
            variable, value = origin(node.inputs[0], outer), node.inputs[1].source(passed=outer)
            if variable.op != ASSIGNS[node.op] or variable.graph is not model.graph or variable in restored:
                return None
            call = value.node, id(outer)  # of a restore op in a function
            if call not in tensors:
                tensors[call] = _tensors(value.node, outer, file)
            if not 0 <= value.index < len(tensors[call]):
                return None
            restored[variable] = tensors[call][value.index]
        elif node.op not in OTHERS and node.op != RESTORE:
            function = callee(node)
            if function is None or arity(function) != len(node.inputs):
                return None
    names = {shared_name(variable) for variable in restored}
    return restored if len(names) == len(restored) and size < MOST_STEPS else None


def _tensors(restore: Node, outer: Outer, file: str) -> list[RestoreSource]:
    """The tensors of the model's checkpoint that a restore op returns; none if it is not that plain."""
    if restore.op != RESTORE or len(restore.inputs) != 3 or origin(restore.inputs[0], outer).name != file:
        return []
    names, parts = (constant_strings(restore, index, outer) for index in (1, 2))
    types = restore.attr("dtypes")
    if not isinstance(types, list) or not len(names) == len(parts) == len(types) or any(parts):
        return []
    return [(name, "", t, False) for name, t in zip(names, types, strict=True) if isinstance(t, DType)]
