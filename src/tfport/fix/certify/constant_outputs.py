"""Outputs that never vary: a comparison says little about them.

An output that is the same for every input of its size may depend on a part of the model that the
inputs do not reach. One that is always empty has nothing to compare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfport.fix.certify.runners import ModelSide, TrialOutcome
from tfport.fix.certify.trials import Trial


def constant_outputs(
    side: ModelSide, trials: Sequence[Trial], outcomes: Sequence[TrialOutcome]
) -> Iterator[str]:
    """A sentence for each output of the original that does not vary, or is always empty."""
    for name, signature in side.entrances.items():
        answers = [
            (trial, outcome.outputs)
            for trial, outcome in zip(trials, outcomes, strict=True)
            if trial.signature == name and trial.finite and outcome.outputs is not None
        ]
        if len(answers) < 2 or not signature.inputs:
            continue
        for output in signature.outputs:
            yield from _sentence(name, output, [(_shapes(t), outputs[output]) for t, outputs in answers])


def _sentence(signature: str, output: str, answers: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    """A sentence about an output, from the shapes of the inputs and its values."""
    by_size: dict[Any, set[bytes]] = defaultdict(set)
    repeated, elements = 0, 0
    for shapes, value in answers:
        arrays = [np.asarray(part) for part in _parts(value)]
        repeated += shapes in by_size
        by_size[shapes].add(b"".join(map(_bytes, arrays)))
        elements += sum(array.size for array in arrays)
    if not elements:
        yield f"{signature}: {output} was empty for all {len(answers)} inputs, so nothing in it was compared"
    elif repeated and all(len(values) == 1 for values in by_size.values()):
        yield (
            f"{signature}: {output} never varied: it was the same for all inputs of a size, so the "
            "comparison says little about it"
        )


def _shapes(trial: Trial) -> tuple[Any, ...]:
    return tuple(np.shape(part) for value in trial.inputs.values() for part in _parts(value))


def _parts(output: Any) -> Sequence[Any]:
    return output if isinstance(output, tuple) else (output,)


def _bytes(array: NDArray[Any]) -> bytes:
    if array.dtype.kind in "OSU":
        return repr((array.shape, array.tolist())).encode()
    return (
        repr(array.shape).encode() + (array + 0 if array.dtype.kind in "fc" else array).tobytes()
    )  # -0 is 0
