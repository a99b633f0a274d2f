"""Find the differences between two environments that a model or an op library would notice.

`compare("build.txt", "runtime/")` reads both; each rule compares one subject. What does not fit
together inside one environment is a conflict. With a model, only what affects it is reported: its
new findings in the second environment, and whatever prevents TensorFlow itself from running there.
With op libraries, their verdicts in both environments are reported instead of guesses about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tfport.atlas.atlas import Atlas
from tfport.atlas.atlas import atlas as recorded_atlas
from tfport.atlas.environment import Environment, read_environment
from tfport.check.check import FAILS, UNKNOWN, Result, check_on, loaders_of
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import ERROR, Finding
from tfport.env.conflicts import conflicts_of
from tfport.env.difference import BREAKS, MAY_BREAK, SEVERITIES, EnvironmentDifference
from tfport.env.difference import UNKNOWN as NO_VALUE
from tfport.env.libraries import LibraryComparison, compare_libraries
from tfport.env.python_packages import keras_of, python_differs
from tfport.env.system import has_gpus, machine_of, system_differs
from tfport.env.tensorflow import tensorflow_differs
from tfport.errors import Error
from tfport.graph.model import Model
from tfport.lib.with_libraries import with_libraries
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field, replace

OK = "ok"
BUILD, RUNTIME, BOTH = "build", "runtime", "both"
REPLACED_BY_CONFLICTS = ("python-other", "numpy-abi", "protobuf-major", "system-older")
"""Differences that say less than a conflict about the same subject."""


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
        return bool(self.new) and any(result.verdict == FAILS for result in self.runtime)

    @property
    def fails(self) -> bool:
        """Whether it fails in the second environment, perhaps for reasons that the first has too."""
        return any(result.verdict == FAILS for result in self.runtime)

    @property
    def unknown(self) -> str:
        """Why it is unknown whether it runs in the second environment; empty if it is known."""
        result = next((result for result in self.runtime if result.verdict == UNKNOWN), None)
        if result is None:
            return ""
        reasons = [finding.doubt or finding.message for finding in result.findings if _is_error(finding)]
        return f"whether {self.model} runs on {result.target.name} is unknown: {'; '.join(reasons[:1])}"


@dataclass(frozen=True)
class SideConflict:
    """What does not fit together inside one environment, and is no difference between the two."""

    side: str
    """`build` or `both`; those of the second environment alone are differences."""
    conflict: EnvironmentDifference


@dataclass(frozen=True, repr=False)
class EnvironmentComparison(RenderedResult):
    """Two environments and their relevant differences, the most severe first."""

    build: Environment
    runtime: Environment
    differences: list[EnvironmentDifference]
    model: ModelComparison | None = None
    notes: list[str] = field(default_factory=list)
    """How the environments were read."""
    conflicts: list[SideConflict] = field(default_factory=list)
    libraries: list[LibraryComparison] = field(default_factory=list)

    @property
    def unknown(self) -> list[str]:
        """What could not be compared, a sentence each."""
        sides = [side.unknown for side in (self.build, self.runtime) if side.unknown]
        if self.build.target is None and not self.build.unknown:
            sides.append(f"{self.build.name} has no TensorFlow: there is nothing to compare")
        models = [self.model.unknown] if self.model and self.model.unknown else []
        return [*sides, *models, *(library.unknown for library in self.libraries if library.unknown)]

    @property
    def breaks(self) -> bool:
        """Whether something that works in the first environment does not, or may not, in the second."""
        return self.verdict == BREAKS or any(d.severity == MAY_BREAK for d in self.all_differences)

    @property
    def verdict(self) -> str:
        """`breaks`, `unknown`, `may-break` or `ok`: the first that applies."""
        severities = {item.severity for item in self.all_differences}
        subjects: list[ModelComparison | LibraryComparison] = [*self.libraries]
        subjects += [self.model] if self.model else []
        if BREAKS in severities or any(subject.fails for subject in subjects):
            return BREAKS
        return UNKNOWN if self.unknown else MAY_BREAK if MAY_BREAK in severities else OK

    @property
    def all_differences(self) -> list[EnvironmentDifference]:
        """The differences and the conflicts of each environment."""
        return [*self.differences, *(conflict.conflict for conflict in self.conflicts)]

    @property
    def exit_code(self) -> int:
        return self.exit_code_for(BREAKS)

    def exit_code_for(self, fail_on: str) -> int:
        """The exit code: 1 for what breaks (`fail_on` may be `may-break`), 2 for what is unknown."""
        failing = (BREAKS, MAY_BREAK) if fail_on == MAY_BREAK else (BREAKS,)
        return 1 if self.verdict in failing else 2 if self.verdict == UNKNOWN else 0


def compare(
    build: str,
    runtime: str,
    *,
    model: Model | None = None,
    libraries: Sequence[str] = (),
    device: str | None = None,
    loader: str | Iterable[str] | None = None,
    atlas: Atlas | None = None,
) -> EnvironmentComparison:
    """Read and compare two environments; `device` is the device available in both."""
    first, second = (read_environment(text, device=device, atlas=atlas) for text in (build, runtime))
    if first.target is None and second.target is None:
        raise Error("; ".join(dict.fromkeys([*first.notes, *second.notes])))
    before, after = list(conflicts_of(first)), list(conflicts_of(second))
    new = [_seen_from(first, conflict) for conflict in after if conflict not in before]
    relevant = [*_differences(first, second, atlas or recorded_atlas(), new), *new]
    conflicts = [SideConflict(BOTH if conflict in after else BUILD, conflict) for conflict in before]
    checked = _check_model(model, first, second, loader, libraries) if model is not None else None
    if checked is not None:
        relevant = [d for d in relevant if _affects_every_model(d, second)]
        conflicts = [c for c in conflicts if _affects_every_model(c.conflict, second)]
    if libraries:
        relevant = [d for d in relevant if d.concerns != "libraries"]
    notes = [f"{side.name}: {note}" for side in (first, second) for note in side.notes]
    return EnvironmentComparison(
        first,
        second,
        sorted(relevant, key=_severity_rank),
        checked,
        list(dict.fromkeys(notes)),
        sorted(conflicts, key=lambda conflict: _severity_rank(conflict.conflict)),
        compare_libraries(libraries, first, second) if libraries else [],
    )


def _differences(
    build: Environment, runtime: Environment, atlas: Atlas, conflicts: list[EnvironmentDifference]
) -> Iterator[EnvironmentDifference]:
    """The differences between two environments that no conflict in the second explains."""
    explained = {conflict.subject for conflict in conflicts}
    yield from tensorflow_differs(build, runtime, atlas)
    for item in (*python_differs(build, runtime), *system_differs(build, runtime)):
        if item.name not in REPLACED_BY_CONFLICTS or item.subject not in explained:
            yield item


def _seen_from(build: Environment, conflict: EnvironmentDifference) -> EnvironmentDifference:
    """A conflict of the second environment as a difference from the first."""
    # imported here: the facts need the rules of this package

    facts = environment_facts(build)
    before = facts.get(conflict.subject) or build.version_text(conflict.subject) or NO_VALUE
    return replace(conflict, build=before)


def _severity_rank(difference: EnvironmentDifference) -> int:
    return SEVERITIES.index(difference.severity)


def _affects_every_model(difference: EnvironmentDifference, runtime: Environment) -> bool:
    """Whether TensorFlow itself does not run, or does not use the GPUs of the target."""
    return difference.concerns == "tensorflow" or (difference.concerns == "gpu" and has_gpus(runtime))


def _check_model(
    model: Model,
    build: Environment,
    runtime: Environment,
    loader: str | Iterable[str] | None,
    libraries: Sequence[str],
) -> ModelComparison:
    if build.target is None or runtime.target is None:
        raise Error("; ".join([*build.notes, *runtime.notes]))
    subject, loaders = CheckedModel(model), loaders_of(loader)
    targets = with_libraries([build.target, runtime.target], libraries)
    before, after = (check_on(subject, target, loaders) for target in targets)
    return ModelComparison(model.where, before, after)


def _is_error(finding: Finding) -> bool:
    return finding.severity == ERROR and finding.stage is not None


def _key(finding: Finding) -> tuple[object, ...]:
    """The identity of a finding, independent of the target."""
    nodes = frozenset(node.name for node in finding.nodes)
    return finding.code, finding.op, finding.attr, nodes


def environment_facts(environment: Environment) -> dict[str, str]:
    """The versions of everything that is compared, by label; empty text where one is unknown."""
    system, target = environment.system, environment.target
    tensorflow = target.build if target else None
    return {
        "tensorflow": target.name.partition(" + ")[0].removeprefix("tensorflow ") if target else "",
        **({build.package: build.version for build in target.addons} if target else {}),
        "Keras": keras_of(environment)[1],
        "tf-keras": environment.version_text("tf-keras"),
        "Python": environment.python,
        "numpy": environment.version_text("numpy"),
        "protobuf": environment.version_text("protobuf"),
        "CUDA": environment.cuda.get("cudart", ""),
        "cuDNN": environment.cuda.get("cudnn", ""),
        "GLIBC": system.glibc or system.libc,
        "GLIBCXX": system.glibcxx,
        "CXXABI": system.cxxabi,
        "C++ ABI": _abi(tensorflow.facts.get("cxx11_abi")) if tensorflow else "",
        "machine": machine_of(environment),
    }


def _abi(new: bool | None) -> str:
    return "" if new is None else "new" if new else "old"
