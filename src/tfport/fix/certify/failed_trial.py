"""The trial on which two models differ most: its inputs, and both outputs.

`lines` describes it; `cli.failure_folder` writes the arrays, so that the difference can be reproduced
with `tfport run`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfport.fix.certify.compare import OutputDifference, shown
from tfport.fix.certify.trials import Trial
from tfport.startup.dataclass import dataclass

MOST_SHOWN = 6
MOST_INPUTS = 8


@dataclass(frozen=True, slots=True)
class FailedTrial:
    """One trial with both outcomes; an outcome is None if the model refused the inputs."""

    trial: Trial
    runner: str
    expected: Mapping[str, Any] | None
    answer: Mapping[str, Any] | None
    output: str = ""
    """The output that differs."""
    difference: OutputDifference | None = None
    why: str = ""
    """Why the rewritten model refused."""

    @property
    def excess(self) -> float:
        """How far beyond the tolerance the worst element is."""
        worst = self.difference.worst if self.difference is not None else None
        return worst.excess if worst is not None else math.inf

    def lines(self) -> Iterator[str]:
        """The trial, its inputs, and what differs."""
        yield f"{self.trial.signature}, inputs `{self.trial.name}`, on {self.runner}"
        if self.why:
            yield f"the rewritten model refuses them: {self.why}"
        elif self.difference is not None and (worst := self.difference.worst) is not None:
            yield f"output `{self.output}`: {worst}"
        elif self.difference is not None:
            yield f"output `{self.output}`: {self.difference.problem}"
        yield from (preview(name, value) for name, value in list(self.trial.inputs.items())[:MOST_INPUTS])
        if (more := len(self.trial.inputs) - MOST_INPUTS) > 0:
            yield f"… {more} more inputs"


def preview(name: str, value: Any) -> str:
    """An input with its dtype, its shape and its first elements."""
    if isinstance(value, tuple):
        parts = "; ".join(preview("", part).strip(" `") for part in value)
        return f"input `{name}`: {parts}"
    array = np.asarray(value)
    dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
    flat = array.reshape(-1)[:MOST_SHOWN]
    elements = ", ".join(shown(element) for element in flat)
    more = ", …" if array.size > MOST_SHOWN else ""
    about = f"{dtype} {list(array.shape)}: {elements}{more}"
    return f"input `{name}`: {about}" if name else about
