"""Rewrite a model for a target: the only place of these tools that calls `tfport.fix`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tfport
from tfport.formats.graph_def.signature import META_GRAPH


@dataclass(frozen=True)
class Rewritten:
    """A model that a target should accept, and the applied rules."""

    path: Path
    rules: list[dict]
    """Each rule's name, promise and how often it was applied."""


Inputs = Sequence[Mapping[str, Any]]
Rewrite = Callable[[Path, str, tuple[str, ...], Path, Inputs], Rewritten]


def rewrite(model: Path, target: str, fetches: tuple[str, ...], out: Path, inputs: Inputs) -> Rewritten:
    """Rewrite a model; raises `tfport.Error` if it cannot be rewritten."""
    fixed = tfport.fix(str(model), target=target, fetches=fetches, inputs=inputs)
    path = out.with_suffix(".meta") if fixed.model.format is META_GRAPH else out
    fixed.save(str(path))
    rules = [{"name": e.name, "promise": e.keeps.value, "times": e.count} for e in fixed.journal.entries]
    return Rewritten(path, rules)


def leave(model: Path, target: str, fetches: tuple[str, ...], out: Path, inputs: Inputs) -> Rewritten:
    """The model as it is, for the baseline."""
    return Rewritten(model, [])
