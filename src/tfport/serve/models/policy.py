"""Which versions of a model should be served, and what to do next to get there.

`select_versions(policy, available)` chooses among the versions that are there. `next_step(versions)` keeps the
model available while they are exchanged: what is no longer select_versions goes when something that is
select_versions answers, and the last of it stays for as long as nothing does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class LatestVersions:
    """The newest so many."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class AllVersions:
    """Every one."""


@dataclass(frozen=True, slots=True)
class SpecificVersions:
    """Those of these numbers."""

    versions: frozenset[int]


Policy = LatestVersions | AllVersions | SpecificVersions


def select_versions(policy: Policy, available: Mapping[int, str]) -> dict[int, str]:
    """Of the versions that are there, with their places, those that should be served."""
    match policy:
        case LatestVersions(count):
            chosen = sorted(available)[-max(count, 1) :]
        case SpecificVersions(versions):
            chosen = sorted(available.keys() & versions)
        case AllVersions():
            chosen = sorted(available)
    return {number: available[number] for number in chosen}


class LoadStage(Enum):
    """What is being done with a version."""

    NEW = "new"
    LOADING = "loading"
    READY = "ready"
    UNLOADING = "unloading"
    FAILED = "failed"


class PolicyVersion(Protocol):
    """A version as far as the policy looks at it."""

    number: int
    aspired: bool
    """Whether it should be served."""
    stage: LoadStage


class PolicyStep(Enum):
    LOAD = "load"
    UNLOAD = "unload"


V = TypeVar("V", bound=PolicyVersion)


def next_step(versions: Iterable[V]) -> tuple[PolicyStep, V] | None:
    """What to do now, as TensorFlow Serving's availability-preserving policy decides it; None to wait."""
    known = list(versions)
    aspired = [v for v in known if v.aspired]
    superfluous = [v for v in known if not v.aspired and v.stage is LoadStage.READY]
    answered = any(v.stage is LoadStage.READY for v in aspired)
    if superfluous and (not aspired or answered or len(superfluous) > 1):
        return PolicyStep.UNLOAD, min(superfluous, key=lambda v: v.number)
    if new := [v for v in aspired if v.stage is LoadStage.NEW]:
        return PolicyStep.LOAD, max(new, key=lambda v: v.number)
    return None
