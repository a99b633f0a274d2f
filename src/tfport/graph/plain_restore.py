"""Restore ops that do nothing but assign whole tensors of the checkpoint to variables, as most do.

What such an op does is known without running it: which tensor each variable gets.
"""

from __future__ import annotations

from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.inline import callee
from tfport.graph.model import Model
from tfport.graph.state import (
    MOST_STEPS,
    Outer,
    RestoreSource,
    arity,
    constant_strings,
    origin,
    shared_name,
    steps_of,
)

RESTORE = "RestoreV2"
ASSIGNS = {"AssignVariableOp": "VarHandleOp", "Assign": "VariableV2"}
"""The ops that assign, and the op of the variable that each takes."""
OTHERS = ("Const", "Identity", "NoOp", "Placeholder", "PlaceholderWithDefault", *ASSIGNS.values())
"""Ops that change nothing."""
PLAIN_OPS = frozenset((RESTORE, *ASSIGNS, *OTHERS))

MOST_PASSES = 32


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
            variable, value = origin(node.inputs[0], outer), _passed_on(node.inputs[1], outer)
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


def _passed_on(value: Value, outer: Outer) -> Value:
    """The value that an argument or identities pass on."""
    for _ in range(MOST_PASSES):
        value = outer.get(value, value)
        if value.node.op != "Identity" or not value.node.inputs:
            break
        value = value.node.inputs[0]
    return value


def _tensors(restore: Node, outer: Outer, file: str) -> list[RestoreSource]:
    """The tensors of the model's checkpoint that a restore op returns; none if it is not that plain."""
    if restore.op != RESTORE or len(restore.inputs) != 3 or origin(restore.inputs[0], outer).name != file:
        return []
    names, parts = (constant_strings(restore, place, outer) for place in (1, 2))
    types = restore.attr("dtypes")
    if not isinstance(types, list) or not len(names) == len(parts) == len(types) or any(parts):
        return []
    return [(name, "", t, False) for name, t in zip(names, types, strict=True) if isinstance(t, DType)]
