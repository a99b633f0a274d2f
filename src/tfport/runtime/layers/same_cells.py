"""What an LSTM cell reads, and whether another cell consists of the same steps with the same constants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tfport.runtime.layers.affine import ADDS
from tfport.runtime.operand import Operand
from tfport.runtime.program import Step
from tfport.startup.dataclass import dataclass

Producers = Mapping[Operand, Step]
MATRIX_RANK = 2


@dataclass(frozen=True)
class CellOutputs:
    """The states after a cell."""

    h: Operand
    c: Operand


@dataclass(frozen=True)
class CellInputs:
    """What a cell reads, and the steps that it consists of."""

    x: Operand
    h: Operand
    c: Operand
    steps: frozenset[Step] = frozenset()


def inputs_of(producers: Producers, cell: CellOutputs, before: CellOutputs) -> CellInputs | None:
    """The inputs of a cell that follows another."""
    sources: set[Operand] = set()
    pending, seen = [cell.h], {before.c}
    while pending:
        operand = pending.pop()
        if operand in seen or operand.array is not None:
            continue
        seen.add(operand)
        step = producers.get(operand)
        if step is None:
            return None
        if step.op == "MatMul":
            sources.update(_factors(producers, step))
        elif step.op in _INSIDE:
            pending += step.inputs
        else:
            return None
    inputs = sources - {before.h}
    if before.h not in sources or len(inputs) != 1:
        return None
    (x,) = inputs
    return CellInputs(x, before.h, before.c) if x.rank == MATRIX_RANK else None


_INSIDE = frozenset((*ADDS, "Mul", "Sub", "Sigmoid", "Split", "SplitV", "Tanh"))
"""The ops between the products of matrices and the output of a cell."""


def _factors(producers: Producers, product: Step) -> list[Operand]:
    left = product.inputs[0]
    joined = producers.get(left)
    return list(joined.inputs[:-1]) if joined is not None and joined.op == "ConcatV2" else [left]


def same_inputs(
    producers: Producers, pattern: CellInputs, model: CellOutputs, cell: CellOutputs
) -> CellInputs | None:
    """The inputs of a cell whose steps are those of the cell `model`, which has the inputs `pattern`."""
    bound: dict[Operand, Operand] = {}
    steps: set[Step] = set()
    pending = [(model.h, cell.h), (model.c, cell.c)]
    leaves = (pattern.x, pattern.h, pattern.c)
    while pending:
        known, other = pending.pop()
        if known in bound:
            if bound[known] is not other:
                return None
            continue
        bound[known] = other
        if known in leaves or _same_constant(known, other):
            continue
        step, like = producers.get(known), producers.get(other)
        if step is None or like is None or not _alike(step, like):
            return None
        if step.outputs.index(known) != like.outputs.index(other):
            return None
        steps.add(like)
        pending += zip(step.inputs, like.inputs, strict=True)
    x, h, c = (bound.get(leaf) for leaf in leaves)
    fits = x is not None and h is not None and c is not None
    return CellInputs(x, h, c, frozenset(steps)) if fits else None  # type: ignore[arg-type]


def _alike(step: Step, like: Step) -> bool:
    """Whether two steps compute the same from their inputs."""
    if step.op != like.op or len(step.inputs) != len(like.inputs) or len(step.outputs) != len(like.outputs):
        return False
    names = {name for name in (*step.attrs, *like.attrs) if not name.startswith("_")}
    return all(step.attrs.get(name) == like.attrs.get(name) for name in names)


def _same_constant(known: Operand, other: Operand) -> bool:
    if known.array is None or other.array is None:
        return False
    return known.array is other.array or np.array_equal(known.array, other.array)
