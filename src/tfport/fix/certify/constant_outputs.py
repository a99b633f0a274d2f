"""Outputs of the original that never varied in a comparison, which then says little about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfport.fix.certify.compare import Tolerance, compare, is_float
from tfport.fix.certify.runners import ModelSide, TrialOutcome
from tfport.fix.certify.trials import Trial


def constant_outputs(
    side: ModelSide,
    trials: Sequence[Trial],
    outcomes: Sequence[TrialOutcome],
    tolerance_of: Callable[[str, str], Tolerance],
) -> Iterator[str]:
    """A sentence for each output of the original that does not vary, or is always NaN or empty.

    An output that is the same, within the tolerance, for every input of its size may depend on a part of the
    model that the inputs do not reach: a model that ignores its inputs would agree too. One that is always
    NaN agrees with any other NaN, and one that is always empty has nothing to compare.
    """
    for name, signature in side.signatures.items():
        answers = [
            (trial, outcome.outputs)
            for trial, outcome in zip(trials, outcomes, strict=True)
            if trial.signature == name and trial.finite and outcome.outputs is not None
        ]
        if len(answers) < 2 or not signature.inputs:
            continue
        for output in signature.outputs:
            values = [(_shapes(trial), outputs[output]) for trial, outputs in answers]
            yield from _sentence(f"{name}: {output}", values, tolerance_of(name, output))


def _sentence(output: str, answers: Sequence[tuple[Any, Any]], tolerance: Tolerance) -> Iterator[str]:
    """A sentence about an output, from the shapes of the inputs and its values."""
    arrays = [np.asarray(part) for _, value in answers for part in _parts(value)]
    if not any(array.size for array in arrays):
        yield f"{output} was empty for all {len(answers)} inputs, so nothing in it was compared"
    elif all(is_float(array.dtype) and bool(np.isnan(array).all()) for array in arrays):
        yield f"{output} was NaN for all {len(answers)} inputs, so the comparison says nothing about it"
    elif _never_varies(answers, tolerance):
        yield (
            f"{output} never varied: it was the same for all inputs of a size, so the comparison says "
            "little about it"
        )


def _never_varies(answers: Sequence[tuple[Any, Any]], tolerance: Tolerance) -> bool:
    """Whether the answers to inputs of the same sizes are the same, and there are some of the same sizes."""
    first: dict[Any, Any] = {}
    for shapes, value in answers:
        if not compare(value, first.setdefault(shapes, value), tolerance).alike:
            return False
    return len(first) < len(answers)


def _shapes(trial: Trial) -> tuple[Any, ...]:
    return tuple(np.shape(part) for value in trial.inputs.values() for part in _parts(value))


def _parts(output: Any) -> Sequence[Any]:
    return output if isinstance(output, tuple) else (output,)
