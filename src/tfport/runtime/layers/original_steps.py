"""Run the steps that another step replaces, in cases that it does not handle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.operand import Operand
from tfport.runtime.program import Run, Step


def original_steps(steps: Sequence[Step], inputs: Sequence[Operand], outputs: Sequence[Operand]) -> Run:
    """A function of arrays of the inputs that returns arrays of the outputs."""
    calls = [(step.run, step.inputs, step.outputs) for step in steps]

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        known = dict(zip(inputs, arrays, strict=True))
        for call, reads, writes in calls:
            assert call is not None
            made = call([operand.value if operand.is_constant else known[operand] for operand in reads])
            known.update(zip(writes, made, strict=True))
        return [known[output] for output in outputs]

    return run
