"""The activation that an operator applies to its result."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.graph.graph import Value


def activate(b: OperatorBuilder, x: Any, name: str | int) -> Value:
    """The value after a fused activation; itself for `NONE`."""
    match name:
        case "NONE":
            return b.value(x)
        case "RELU":
            return b.Relu(x).output(0)
        case "RELU6":
            return b.Relu6(x).output(0)
        case "RELU_N1_TO_1":
            return clip(b, x, -1.0, 1.0)
        case "TANH":
            return b.Tanh(x).output(0)
        case _:  # SIGN_BIT, which no kernel implements, and numbers that the schema does not know
            raise b.refuse(f"the activation {name} is not supported")


def clip(b: OperatorBuilder, x: Any, lowest: float, highest: float) -> Value:
    """The value within bounds."""
    return b.Minimum(b.Maximum(x, lowest), highest).output(0)
