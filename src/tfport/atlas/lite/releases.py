"""TensorFlow Lite interpreters: what each release registers, and which ones a requirement refers to.

Recorded from the wheels of tflite-runtime, ai-edge-litert and tensorflow by
`tools/atlas/lite_releases.py`. `lite_release("ai-edge-litert", "2.3.0")` is one release;
`lite_of_tensorflow("2.8.4")` the interpreter that a TensorFlow contains.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tfport.atlas.choose_builds import choose_versions
from tfport.atlas.package_requirement import PackageRequirement, merged_requirements
from tfport.atlas.versions import version_key
from tfport.startup.dataclass import dataclass, field

OUTPUT = os.path.join(os.path.dirname(__file__), "releases.json.xz")
TFLITE_RUNTIME, LITERT, TENSORFLOW = "tflite-runtime", "ai-edge-litert", "tensorflow"
PACKAGES = (TFLITE_RUNTIME, LITERT)
"""The packages that are an interpreter and nothing else."""
XNNPACK, FLEX, NONE = "xnnpack", "flex", "none"
DELEGATES = (XNNPACK, FLEX, NONE)
"""What `--delegate` accepts; `none` is an interpreter without its default delegate, XNNPACK."""
SCHEMA = 3
"""The version of the schema that every interpreter reads."""


@dataclass(frozen=True, eq=False)
class LiteRegistry:
    """An interpreter: a recorded release, or a build of one's own."""

    name: str
    """For people: `ai-edge-litert 2.3.0`."""
    package: str
    version: str
    ops: Mapping[str, frozenset[int] | None] = field(repr=False)
    """The versions of each builtin op; None if they are unknown."""
    newest: int | None
    """The largest number of a builtin op that its schema has; None if unknown."""
    custom_ops: frozenset[str] = frozenset()
    """The custom ops that it registers itself."""
    delegates: frozenset[str] = frozenset()
    """The delegates that it applies by default: `xnnpack`, `flex`."""
    delegated: frozenset[str] = frozenset()
    """The custom ops that XNNPACK takes."""
    types: frozenset[int] | None = None
    """The numbers of the tensor types that it knows; None if unknown."""
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Its messages, with placeholders."""
    is_complete: bool = True
    """Whether nothing else is registered: False for a build whose ops are only partly known."""

    def versions(self, op: str) -> frozenset[int] | None:
        """The versions of an op: empty if it is not registered, None if they are unknown."""
        return self.ops.get(op, frozenset())

    def says(self, text: str, **values: object) -> str:
        """One of its messages, filled in; empty if it is not recorded."""
        return self.texts.get(text, "").format(**values)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ops": {
                op: sorted(versions) if versions is not None else None for op, versions in self.ops.items()
            },
            "custom_ops": sorted(self.custom_ops),
            "delegates": sorted(self.delegates),
            "delegated_ops": sorted(self.delegated),
            "complete": self.is_complete,
        }


@cache
def lite_versions(package: str) -> Mapping[str, int]:
    """The recorded versions of a package, the oldest first, with their places in the record."""
    rows = enumerate(_record()["releases"])
    return {version: number for number, (name, version, *_) in rows if name == package}


def lite_release(package: str, version: str) -> LiteRegistry | None:
    """The interpreter of a release by its exact version; None if it is not recorded."""
    wanted = version_key(version)
    for recorded, number in lite_versions(package).items():
        if version_key(recorded) == wanted:
            return _release(number)
    return None


def lite_of_tensorflow(version: str) -> LiteRegistry | None:
    """The interpreter of a TensorFlow: of the same patch, or of the nearest recorded one of its minor."""
    if (exact := lite_release(TENSORFLOW, version)) is not None:
        return exact
    minor = version_key(version).release[:2]
    same = [v for v in lite_versions(TENSORFLOW) if version_key(v).release[:2] == minor]
    return lite_release(TENSORFLOW, same[-1]) if same else None


@cache
def first_release_with(op: str, version: int) -> tuple[str, ...]:
    """The first recorded release of each package that has a version of an op: `tflite-runtime 2.8.0`."""
    first = []
    for package in (TFLITE_RUNTIME, LITERT, TENSORFLOW):
        for recorded, number in lite_versions(package).items():
            if version in (_release(number).versions(op) or ()):
                first.append(f"{package} {recorded}")
                break
    return tuple(first)


@cache
def first_release_with_custom(op: str) -> tuple[str, ...]:
    """The first recorded release of each package that registers a custom op itself, if the last one does."""
    having = {
        package: [v for v, number in lite_versions(package).items() if op in _names("custom", number)]
        for package in (TFLITE_RUNTIME, LITERT, TENSORFLOW)
    }
    return tuple(
        f"{package} {versions[0]}"
        for package, versions in having.items()
        if versions and versions[-1] == [*lite_versions(package)][-1]
    )


@cache
def lite_op_numbers() -> Mapping[str, int]:
    """The number of every builtin op that a recorded interpreter registers."""
    return {name: number for name, (number, _) in _record()["ops"].items()}


@cache
def _release(number: int) -> LiteRegistry:
    record = _record()
    package, version, newest, types, delegates, text, _ = record["releases"][number]
    return LiteRegistry(
        name=f"{package} {version}",
        package=package,
        version=version,
        ops={
            op: frozenset(_numbers(versions))
            for op, (_, rows) in record["ops"].items()
            for versions, where in rows.items()
            if number in _numbers(where)
        },
        newest=newest,
        custom_ops=_names("custom", number),
        delegates=frozenset(delegates.split()),
        delegated=_names("delegated", number) if XNNPACK in delegates else frozenset(),
        types=frozenset(_numbers(types)),
        texts=record["texts"][text],
    )


def flex_allow_list(version: str) -> frozenset[str] | None:
    """The TensorFlow ops that the converter of a release may write as Flex ops; None if unknown."""
    minor = version_key(version).release[:2]
    for recorded, number in reversed([*lite_versions(TENSORFLOW).items()]):
        if version_key(recorded).release[:2] == minor and _record()["releases"][number][-1]:
            return _names(FLEX, number)
    return None


def _names(kind: str, number: int) -> frozenset[str]:
    return frozenset(name for name, where in _record()[kind].items() if number in _numbers(where))


@cache
def _numbers(spans: str) -> frozenset[int]:
    ends = (span.partition("-") for span in spans.split(",") if span)
    return frozenset(n for first, _, last in ends for n in range(int(first), int(last or first) + 1))


@cache
def _record() -> dict[str, Any]:
    import lzma  # here, as few commands read it

    with lzma.open(OUTPUT) as file:
        record: dict[str, Any] = json.load(file)
    return record


# The interpreters that a requirement refers to.


@dataclass(frozen=True)
class ChosenLite:
    """A release of an interpreter."""

    registry: LiteRegistry
    notes: list[str] = field(default_factory=list)
    path: str = ""
    """The file of a build of one's own."""

    @property
    def name(self) -> str:
        return self.registry.name

    @property
    def requirement(self) -> str:
        return self.path or f"{self.registry.package}=={self.registry.version}"


def lite_requirements(wanted: Sequence[PackageRequirement]) -> list[PackageRequirement]:
    """The requirements for interpreters, each package once."""
    merged = merged_requirements(wanted, PACKAGES)
    return sorted(merged, key=lambda requirement: PACKAGES.index(requirement.package))


def choose_lite(wanted: PackageRequirement, *, typed: bool) -> list[ChosenLite]:
    """The interpreters that a requirement refers to; an error if there is none."""
    versions, notes = choose_versions(wanted, list(lite_versions(wanted.package)), typed=typed)
    registries = (lite_release(wanted.package, version) for version in versions)
    return [ChosenLite(registry, list(notes)) for registry in registries if registry is not None]


# Since which interpreter each version of a builtin op is registered.

EVERY = (TFLITE_RUNTIME, LITERT, TENSORFLOW)


@dataclass(frozen=True, slots=True)
class LiteOpVersion:
    """A version of an op, and the first recorded release of each package that registers it."""

    version: int
    since: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        return {"version": self.version, "since": self.since}


@dataclass(frozen=True, slots=True)
class LiteOpHistory:
    """A builtin op and its versions."""

    op: str
    number: int
    versions: list[LiteOpVersion]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.op,
            "number": self.number,
            "versions": [version.to_json() for version in self.versions],
        }


def lite_op_history(op: str) -> LiteOpHistory | None:
    """The history of a builtin op; None if no recorded interpreter registers it."""
    number = lite_op_numbers().get(op)
    if number is None:
        return None
    first: dict[int, dict[str, str]] = {}
    for package in EVERY:
        for release in lite_versions(package):
            registry = lite_release(package, release)
            for version in (registry.versions(op) if registry else None) or ():
                first.setdefault(version, {}).setdefault(package, release)
    return LiteOpHistory(op, number, [LiteOpVersion(version, first[version]) for version in sorted(first)])
