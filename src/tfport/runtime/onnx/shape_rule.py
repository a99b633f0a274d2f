"""Declare shape rules of ONNX ops, `@shape_rule("Abs Neg")`, and helpers for them.

A rule gets the inputs, the attributes and the number of outputs, and returns the shape of each output;
None where the rank is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.runtime.operand import Dims, Operand

Inputs = Sequence[Operand | None]
Attrs = dict[str, Any]
OnnxShapeRule = Callable[[Inputs, Attrs, int], list[Dims | None]]
SHAPE_RULES: dict[str, OnnxShapeRule] = {}


def shape_rule(ops: str) -> Callable[[OnnxShapeRule], OnnxShapeRule]:
    """Declare the shape rule of ops (names separated by blanks)."""

    def declare(function: OnnxShapeRule) -> OnnxShapeRule:
        for op in ops.split():
            SHAPE_RULES[op] = function
        return function

    return declare


def required(operand: Operand | None) -> Operand:
    """An input that ONNX does not allow to be left out."""
    assert operand is not None
    return operand


def first_two(inputs: Inputs) -> tuple[Operand, Operand]:
    return required(inputs[0]), required(inputs[1])


def broadcast(*shapes: Dims | None) -> Dims | None:
    """The shape of a broadcast; None where the rank of an operand is unknown."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    rank = max(map(len, known), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in known]
    return tuple(map(_broadcast_size, zip(*padded, strict=True))) if rank else ()


def _broadcast_size(sizes: tuple[int | None, ...]) -> int | None:
    others = {size for size in sizes if size != 1}
    if not others:
        return 1
    known = others - {None}
    # an unknown size is 1 or the known one; where two known sizes differ, the run fails
    return known.pop() if len(known) == 1 else None
