"""Infer the shapes of ONNX nodes' outputs from their inputs: ranks nearly always, sizes often."""

from __future__ import annotations

from tfport.runtime.onnx import shape_rules_array, shape_rules_compute  # noqa: F401  they declare the rules
from tfport.runtime.onnx.shape_rule import SHAPE_RULES, Attrs, Inputs
from tfport.runtime.operand import Dims


def infer_shapes(op: str, inputs: Inputs, attrs: Attrs, outputs: int) -> list[Dims | None]:
    """The shape of each output; None where the rank is unknown."""
    rule = SHAPE_RULES.get(op)
    return rule(inputs, attrs, outputs) if rule else [None] * outputs
