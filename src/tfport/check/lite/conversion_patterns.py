"""Nodes whose conversion to TensorFlow Lite depends on the nodes around them: lists, and parts of GELU."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.graph.graph import Node, Value
from tfport.graph.tensors import Tensor

NO_SHAPE = "a size of its elements is not known; with a fixed batch size it often is"
NO_SHAPE_TEXT = (
    "'tf.TensorListReserve' op requires element_shape to be static during TF Lite transformation pass"
)
GROWS = "its list grows while it is filled"
GROWS_TEXT = "error: Lowering tensor list ops is failed."
HALF_ROOT, ROOT = np.sqrt(0.5), np.sqrt(2.0)
TOLERANCE = 1e-3


def list_problem(node: Node) -> tuple[str, str] | None:
    """Why a list does not become builtin ops, and what the converter says; None if it does."""
    if node.op == "TensorListReserve":
        sizes = _constant(node.inputs[0])
        if sizes is not None and sizes.ndim == 1 and (sizes < 0).any():
            return NO_SHAPE, NO_SHAPE_TEXT
    if node.op == "TensorListSetItem" and node.attrs.get("resize_if_index_out_of_bounds"):
        return GROWS, GROWS_TEXT
    return None


def is_part_of_gelu(node: Node) -> bool:
    """Whether a converter that knows GELU sees it: `x * (1 + erf(x / sqrt(2)))`, or the same with erfc."""
    if node.op not in ("Erf", "Erfc") or not _is_scaled(node.inputs[0].node):
        return False
    users = list(node.output(0).uses)
    if node.op == "Erf":
        sums = [user for user in users if user.op in ("Add", "AddV2") and _has(user, 1.0)]
        users = [after for user in sums for after in user.output(0).uses]
    return bool(users) and all(user.op == "Mul" for user in users)


def _is_scaled(node: Node) -> bool:
    """Whether a node divides by the square root of 2."""
    if node.op in ("Div", "RealDiv"):
        divisor = _constant(node.inputs[1])
        return divisor is not None and _near(divisor, ROOT)
    return node.op == "Mul" and (_has(node, HALF_ROOT) or _has(node, -HALF_ROOT))


def _has(node: Node, number: float) -> bool:
    arrays = (_constant(value) for value in node.inputs)
    return any(array is not None and _near(array, number) for array in arrays)


def _near(array: Any, number: float) -> bool:
    return bool(array.size == 1 and abs(float(array.reshape(-1)[0]) - number) < TOLERANCE)


def _constant(value: Value) -> Any:
    """The elements of a constant of numbers; None for anything else."""
    stored = value.node.attrs.get("value") if value.node.op == "Const" else None
    array = stored.numpy() if isinstance(stored, Tensor) else None
    return array if array is not None and array.dtype.kind in "fiu" else None
