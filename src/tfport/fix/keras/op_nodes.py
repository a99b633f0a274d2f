"""Nodes of TensorFlow in models of TensorFlow 1.15 to 2.3, as the functions that later releases store.

`x + 1.0` is a `TensorFlowOpLayer` with a node and its constants there, and a `TFOpLambda` layer since 2.4. A
node that the tables do not have stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.fix.keras.operators import FUNCTION_LAYER, SLICING, SLICING_LAYER
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import LayerCall, LayerConfig, ModelConfig, every_ref

NODE_LAYER = "TensorFlowOpLayer"
BINARY = {
    "Add": "__operators__.add", "AddV2": "__operators__.add", "Sub": "math.subtract", "Mul": "math.multiply",
    "RealDiv": "math.truediv", "FloorDiv": "math.floordiv", "FloorMod": "math.floormod", "Pow": "math.pow",
    "Maximum": "math.maximum", "Minimum": "math.minimum", "Greater": "math.greater", "Less": "math.less",
    "GreaterEqual": "math.greater_equal", "LessEqual": "math.less_equal",
}  # fmt: skip
UNARY = {
    "Neg": "math.negative", "Abs": "math.abs", "Exp": "math.exp", "Log": "math.log", "Sqrt": "math.sqrt",
    "Square": "math.square", "Sin": "math.sin", "Cos": "math.cos", "Tanh": "math.tanh", "Floor": "math.floor",
    "Ceil": "math.ceil", "Sign": "math.sign", "Erf": "math.erf", "Rsqrt": "math.rsqrt", "Relu": "nn.relu",
    "Relu6": "nn.relu6", "Sigmoid": "math.sigmoid", "Softplus": "math.softplus", "Softmax": "nn.softmax",
    "Elu": "nn.elu", "Selu": "nn.selu", "Softsign": "nn.softsign", "Log1p": "math.log1p",
    "Expm1": "math.expm1", "LogSoftmax": "nn.log_softmax",
}  # fmt: skip
REDUCTIONS = {
    "Mean": "math.reduce_mean", "Sum": "math.reduce_sum", "Prod": "math.reduce_prod",
    "Max": "math.reduce_max", "Min": "math.reduce_min",
}  # fmt: skip
WITH_CONSTANT = {
    "Reshape": ("reshape", "shape"), "Transpose": ("transpose", "perm"), "Tile": ("tile", "multiples"),
    "ExpandDims": ("expand_dims", "axis"),
}  # fmt: skip
"""Functions with the argument that the second input of the node is."""


def with_functions(model: ModelConfig) -> None:
    """Make functions of nodes, in all models inside too."""
    for layer in model.layers:
        if layer.model is not None:
            with_functions(layer.model)
        node = layer.config.get("node_def") if layer.class_name == NODE_LAYER else None
        if not isinstance(node, Mapping):
            continue
        calls = [_function(node, _operands(layer, node, call)) for call in layer.calls]
        if calls and all(function for function, _ in calls):
            function = calls[0][0]
            layer.class_name = SLICING_LAYER if function == SLICING else FUNCTION_LAYER
            layer.config = {"name": layer.name, "function": function}
            layer.calls = [LayerCall((first,), kwargs) for _, (first, kwargs) in calls]


def _operands(layer: LayerConfig, node: Mapping[str, Json], call: LayerCall) -> list[Any]:
    """The inputs of the node: tensors of the call, and constants at their numbers."""
    stored = layer.config.get("constants")
    constants = {int(number): value for number, value in (stored or {}).items()}
    tensors, count = list(every_ref(call.args)), len(node.get("input", ()))
    if len(tensors) + len(constants) != count:
        return []
    return [constants[number] if number in constants else tensors.pop(0) for number in range(count)]


def _function(node: Mapping[str, Json], operands: Sequence[Any]) -> tuple[str, tuple[Any, dict[str, Any]]]:
    """The function of a node, its first argument and the others; an empty name if there is none."""
    op, rest = str(node.get("op")), list(operands[1:])
    first = operands[0] if operands else None
    if op in BINARY and len(rest) == 1:
        return BINARY[op], (first, {"y": rest[0]})
    if op in UNARY and operands and not rest:
        return UNARY[op], (first, {})
    if len(rest) != (3 if op == "StridedSlice" else 1) or any(every_ref(rest)):
        return "", (first, {})
    if op in REDUCTIONS:
        keeps = bool(_attribute(node, "keep_dims", "b"))
        return REDUCTIONS[op], (first, {"axis": rest[0], "keepdims": keeps})
    if op in WITH_CONSTANT:
        function, argument = WITH_CONSTANT[op]
        return function, (first, {argument: rest[0]})
    index = _index(node, rest) if op == "StridedSlice" else None
    return (SLICING, (first, {"slice_spec": index})) if index is not None else ("", (first, {}))


def _index(node: Mapping[str, Json], bounds: Sequence[list[int]]) -> list[Json] | None:
    """The index of a slice; None for one with an ellipsis or a new axis."""
    masks = ("begin_mask", "end_mask", "shrink_axis_mask", "ellipsis_mask", "new_axis_mask")
    begins, ends, shrinks, *others = (int(_attribute(node, mask, "i") or 0) for mask in masks)
    if any(others) or not all(isinstance(part, list) and len(part) == len(bounds[0]) for part in bounds):
        return None
    index: list[Json] = []
    for axis, (start, stop, step) in enumerate(zip(*bounds, strict=True)):
        bit = 1 << axis
        part = {
            "start": None if begins & bit else start,
            "stop": None if ends & bit else stop,
            "step": None if step == 1 else step,
        }
        index.append(start if shrinks & bit else part)
    return index


def _attribute(node: Mapping[str, Json], name: str, kind: str) -> Json:
    attributes = node.get("attr")
    value = attributes.get(name) if isinstance(attributes, Mapping) else None
    return value.get(kind) if isinstance(value, Mapping) else None
