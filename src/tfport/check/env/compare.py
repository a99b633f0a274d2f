"""Find the differences between two environments that a model or an op library would notice.

`compare("build.txt", "runtime/")` reads both; each rule compares one subject. With a model,
only differences that affect it are reported: its new findings in the second environment, and
whatever prevents TensorFlow itself from running there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tfport.atlas.atlas import Atlas
from tfport.atlas.atlas import atlas as recorded_atlas
from tfport.atlas.environment import Environment, read_environment
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
    """The results of one model in both environments."""

    model: str
    build: list[Result]
    runtime: list[Result]

    @property
    def new(self) -> list[Finding]:
        """The findings in the second environment that are not in the first."""
        before = {_key(finding) for result in self.build for finding in result.findings if _is_error(finding)}
        after = [finding for result in self.runtime for finding in result.findings if _is_error(finding)]
        new = {_key(finding): finding for finding in reversed(after) if _key(finding) not in before}
        return list(reversed(new.values()))

    @property
    def breaks(self) -> bool:
        return bool(self.new) and any(result.verdict != RUNS for result in self.runtime)


@dataclass(frozen=True)
class EnvironmentComparison:
    """Two environments and their relevant differences, the most severe first."""

    build: Environment
    runtime: Environment
    differences: list[EnvironmentDifference]
    model: ModelComparison | None = None
    notes: list[str] = field(default_factory=list)
    """How the environments were read."""

    @property
    def breaks(self) -> bool:
        """Whether something that works in the first environment does not, or may not, in the second."""
        relevant = any(difference.severity != NOTE for difference in self.differences)
        return relevant or (self.model is not None and self.model.breaks)

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
    """Read and compare two environments; `device` is the device available in both."""
    first, second = (read_environment(text, device=device, atlas=atlas) for text in (build, runtime))
    if first.target is None and second.target is None:
        raise Error("; ".join(dict.fromkeys([*first.notes, *second.notes])))
    differences = sorted(_differences(first, second, atlas or recorded_atlas()), key=_severity_rank)
    notes = [f"{side.name}: {note}" for side in (first, second) for note in side.notes]
    checked = _check_model(model, first, second, loader) if model is not None else None
    if checked is not None:
        differences = [difference for difference in differences if _affects_every_model(difference, second)]
    return EnvironmentComparison(first, second, differences, checked, list(dict.fromkeys(notes)))


def _differences(build: Environment, runtime: Environment, atlas: Atlas) -> Iterable[EnvironmentDifference]:
    yield from tensorflow_differs(build, runtime, atlas)
    yield from python_differs(build, runtime)
    yield from system_differs(build, runtime)


def _severity_rank(difference: EnvironmentDifference) -> int:
    return SEVERITIES.index(difference.severity)


def _affects_every_model(difference: EnvironmentDifference, runtime: Environment) -> bool:
    """Whether TensorFlow itself does not run, or does not use the GPUs of the target."""
    return difference.concerns == "tensorflow" or (difference.concerns == "gpu" and has_gpus(runtime))


def _check_model(
    model: Model, build: Environment, runtime: Environment, loader: str | Iterable[str] | None
) -> ModelComparison:
    if build.target is None or runtime.target is None:
        raise Error("; ".join([*build.notes, *runtime.notes]))
    subject, loaders = CheckedModel(model), loaders_of(loader)
    before, after = (check_on(subject, side, loaders) for side in (build.target, runtime.target))
    return ModelComparison(model.where, before, after)


def _is_error(finding: Finding) -> bool:
    return finding.severity == ERROR and finding.stage is not None


def _key(finding: Finding) -> tuple[object, ...]:
    """The identity of a finding, independent of the target."""
    nodes = frozenset(node.name for node in finding.nodes)
    return finding.code, finding.op, finding.attr, nodes
