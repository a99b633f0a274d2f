"""TensorFlow ops (Flex) that a builtin op computes in the same way."""

from __future__ import annotations

from tfport.fix.lite.editor import SubgraphEditor
from tfport.fix.lite.rule import lite_rule
from tfport.fix.rule import EXACT
from tfport.formats.lite.records import LiteOperator

BUILTINS = {
    "Abs": "ABS", "Add": "ADD", "AddV2": "ADD", "Ceil": "CEIL", "Cos": "COS", "Elu": "ELU", "Equal": "EQUAL",
    "Exp": "EXP", "Floor": "FLOOR", "FloorDiv": "FLOOR_DIV", "FloorMod": "FLOOR_MOD", "Greater": "GREATER",
    "GreaterEqual": "GREATER_EQUAL", "Less": "LESS", "LessEqual": "LESS_EQUAL", "Log": "LOG",
    "LogicalAnd": "LOGICAL_AND", "LogicalNot": "LOGICAL_NOT", "LogicalOr": "LOGICAL_OR", "Maximum": "MAXIMUM",
    "Minimum": "MINIMUM", "Mul": "MUL", "Neg": "NEG", "NotEqual": "NOT_EQUAL", "Pow": "POW", "RealDiv": "DIV",
    "Relu": "RELU", "Relu6": "RELU6", "Round": "ROUND", "Rsqrt": "RSQRT", "Sigmoid": "LOGISTIC", "Sin": "SIN",
    "Sqrt": "SQRT", "Square": "SQUARE", "Sub": "SUB", "Tanh": "TANH", "ZerosLike": "ZEROS_LIKE",
}  # fmt: skip
"""Ops without attributes other than their types."""
TYPES = ("FLOAT32", "INT32", "INT64", "BOOL")


@lite_rule(" ".join(f"Flex{op}" for op in BUILTINS), keeps=EXACT)
def builtin_of_flex(e: SubgraphEditor, n: LiteOperator) -> None:
    """A builtin op computes what the TensorFlow op does."""
    for index in (*n.inputs, *n.outputs):
        e.require(index, *TYPES)
    e.op(BUILTINS[n.code.flex_op], n.inputs, to=n.outputs[0])


@lite_rule("FlexIdentity FlexStopGradient FlexPreventGradient FlexSnapshot", keeps=EXACT)
def same_values(e: SubgraphEditor, n: LiteOperator) -> None:
    """RESHAPE to its own shape passes a tensor on."""
    shape = e.static_shape(n.inputs[0])
    e.op("RESHAPE", (n.inputs[0], e.constant(shape, "int32")), to=n.outputs[0])
