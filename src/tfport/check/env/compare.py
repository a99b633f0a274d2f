"""What differs between two environments that a model or an op library would notice?

`compare("build.txt", "runtime/")` reads both; each rule looks at one subject and yields
what matters. With a model, only what that model needs: what it meets in the second and
not in the first, and what keeps TensorFlow itself from running there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tfport.atlas.atlas import Atlas
from tfport.atlas.atlas import atlas as recorded_atlas
from tfport.atlas.packages import Environment, read_environment
from tfport.check.check import RUNS, Result, check_on, loaders_of
from tfport.check.checked_model import CheckedModel
from tfport.check.env.difference import NOTE, SEVERITIES, EnvironmentDifference
from tfport.check.env.python_packages import python_differs
from tfport.check.env.system import has_gpus, system_differs
from tfport.check.env.tensorflow import tensorflow_differs
from tfport.check.findings.finding import ERROR, Finding
from tfport.errors import Error
from tfport.graph.model import Model


@dataclass(frozen=True)
class ModelComparison:
    """What becomes of one model."""

    model: str
    build: list[Result]
    runtime: list[Result]

    @property
    def new(self) -> list[Finding]:
        """What goes wrong in the second environment and not in the first; the same in both is not news."""
        before = {_key(finding) for result in self.build for finding in result.findings if _grave(finding)}
        after = [finding for result in self.runtime for finding in result.findings if _grave(finding)]
        found = {_key(finding): finding for finding in reversed(after) if _key(finding) not in before}
        return list(reversed(found.values()))

    @property
    def breaks(self) -> bool:
        return bool(self.new) and any(result.verdict != RUNS for result in self.runtime)


@dataclass(frozen=True)
class EnvironmentComparison:
    """Two environments, and what matters of their differences, the gravest first."""

    build: Environment
    runtime: Environment
    differences: list[EnvironmentDifference]
    model: ModelComparison | None = None
    notes: list[str] = field(default_factory=list)
    """What was derived about the environments."""

    @property
    def breaks(self) -> bool:
        """Whether something that works in the first does not, or may not, in the second."""
        mattering = any(found.severity != NOTE for found in self.differences)
        return mattering or (self.model is not None and self.model.breaks)

    @property
    def exit_code(self) -> int:
        return 1 if self.breaks else 0

    def to_json(self) -> dict[str, Any]:
        from tfport.check.env.json import to_json

        return to_json(self)

    def __str__(self) -> str:
        from tfport.check.console import plain
        from tfport.check.env.text import render

        return plain(lambda width: render(self, width))


def compare(
    build: str,
    runtime: str,
    *,
    model: Model | None = None,
    device: str | None = None,
    loader: str | Iterable[str] | None = None,
    atlas: Atlas | None = None,
) -> EnvironmentComparison:
    """Read two environments and say what matters; `device` is what hardware there is in both."""
    first, second = (read_environment(text, device=device, atlas=atlas) for text in (build, runtime))
    if first.target is None and second.target is None:
        raise Error("; ".join(dict.fromkeys([*first.notes, *second.notes])))
    found = sorted(_differences(first, second, atlas or recorded_atlas()), key=_gravity)
    notes = [f"{side.name}: {note}" for side in (first, second) for note in side.notes]
    carried = _carry(model, first, second, loader) if model is not None else None
    if carried is not None:
        found = [one for one in found if _needed(one, second)]
    return EnvironmentComparison(first, second, found, carried, list(dict.fromkeys(notes)))


def _differences(build: Environment, runtime: Environment, atlas: Atlas) -> Iterable[EnvironmentDifference]:
    yield from tensorflow_differs(build, runtime, atlas)
    yield from python_differs(build, runtime)
    yield from system_differs(build, runtime)


def _gravity(found: EnvironmentDifference) -> int:
    return SEVERITIES.index(found.severity)


def _needed(found: EnvironmentDifference, runtime: Environment) -> bool:
    """Whether a difference concerns every model: TensorFlow does not run, or not on GPUs that are wanted."""
    return found.concerns == "tensorflow" or (found.concerns == "gpu" and has_gpus(runtime))


def _carry(
    model: Model, build: Environment, runtime: Environment, loader: str | Iterable[str] | None
) -> ModelComparison:
    if build.target is None or runtime.target is None:
        raise Error("; ".join([*build.notes, *runtime.notes]))
    subject, loaders = CheckedModel(model), loaders_of(loader)
    before, after = (check_on(subject, side, loaders) for side in (build.target, runtime.target))
    return ModelComparison(model.where, before, after)


def _grave(finding: Finding) -> bool:
    return finding.severity == ERROR and finding.stage is not None


def _key(finding: Finding) -> tuple[object, ...]:
    """What makes two findings the same, whatever the target."""
    nodes = frozenset(node.name for node in finding.nodes)
    return finding.code, finding.op, finding.attr, nodes
