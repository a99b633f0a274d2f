"""Activations of recurrent cells: ops, and hard sigmoids that several steps compute."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from tfport.runtime.operand import Operand
from tfport.runtime.ops.shared.precision import sigmoid
from tfport.runtime.program import Program
from tfport.startup.dataclass import dataclass

HARD_SIGMOID = "HardSigmoid"


@dataclass(frozen=True)
class Activation:
    """An activation by its name in ONNX, with its parameters."""

    name: str
    alpha: float | None = None
    beta: float | None = None

    @property
    def is_symmetric(self) -> bool:
        """Whether its value is 1 minus that of the negative input."""
        return self.name == "Sigmoid" or (self.name == HARD_SIGMOID and self.beta == 0.5)

    def __call__(self, x: Any) -> Any:
        if self == IDENTITY:
            return x
        if self.name == HARD_SIGMOID:
            return np.clip(np.float32(self.alpha) * x + np.float32(self.beta), 0, 1)
        return FUNCTIONS[self.name](x)


FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
}
"""The activations that have the same name as ops."""
SIGMOID, TANH = Activation("Sigmoid"), Activation("Tanh")
IDENTITY = Activation("Affine", 1.0, 0.0)


def attributes_of(activations: Collection[Activation]) -> dict[str, Any]:
    """The attributes of a node with these activations."""
    attrs: dict[str, Any] = {"activations": [each.name for each in activations]}
    if with_numbers := [each for each in activations if each.alpha is not None]:
        attrs |= {
            "activation_alpha": [e.alpha for e in with_numbers],
            "activation_beta": [e.beta for e in with_numbers],
        }
    return attrs


class ActivationReader:
    """Finds activations among the steps of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.producer = program.producer

    def activation_of(self, operand: Operand) -> tuple[Activation, Operand] | None:
        """The activation that computes an operand, and its input."""
        step = self.producer(operand, *FUNCTIONS)
        if step is not None:
            return Activation(step.op), step.inputs[0]
        return self._hard_sigmoid(operand)

    def _hard_sigmoid(self, operand: Operand) -> tuple[Activation, Operand] | None:
        """`a x + b` between 0 and 1, or `relu6(x + 3) / 6`."""
        for first, second in (((("Minimum",), 1), (("Maximum",), 0)), ((("Maximum",), 0), (("Minimum",), 1))):
            inside = self._with_number(operand, *first)
            inside = None if inside is None else self._with_number(inside, *second)
            if inside is not None:
                return self._scaled(inside)
        for scale in (6.0, 1 / 6):
            ops = ("RealDiv", "Div") if scale == 6 else ("Mul",)
            whole = self._with_number(operand, ops, scale)
            relu6 = None if whole is None else self.producer(whole, "Relu6")
            x = None if relu6 is None else self._with_number(relu6.inputs[0], ("Add", "AddV2"), 3)
            if x is not None:
                return Activation(HARD_SIGMOID, 1 / 6, 0.5), x
        return None

    def _scaled(self, operand: Operand) -> tuple[Activation, Operand] | None:
        """`a x + b`"""
        total = self._number(operand, "Add", "AddV2")
        product = None if total is None else self._number(total[0], "Mul")
        if total is None or product is None:
            return None
        return Activation(HARD_SIGMOID, product[1], total[1]), product[0]

    def _with_number(self, operand: Operand, ops: tuple[str, ...], number: float) -> Operand | None:
        """The other input of an op one of whose inputs is this number."""
        pair = self._number(operand, *ops)
        return pair[0] if pair is not None and np.float32(pair[1]) == np.float32(number) else None

    def _number(self, operand: Operand, *ops: str) -> tuple[Operand, float] | None:
        """The two inputs of an op, of which one is a constant number; of a quotient the second."""
        step = self.producer(operand, *ops)
        if step is None or len(step.inputs) != 2:
            return None
        left, right = step.inputs
        if left.array is not None and step.op not in ("RealDiv", "Div"):
            left, right = right, left
        number = right.array
        if number is None or number.size != 1 or number.dtype != np.float32:
            return None
        return left, float(number.reshape(-1)[0])
