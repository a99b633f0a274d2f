"""Which versions of a model to serve, and the next step to get there.

`select_versions(policy, available)` chooses among the existing versions. `next_step(versions)` keeps the
model available while versions are exchanged: an old version is unloaded once a requested one is ready,
and the last old version stays until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Protocol, TypeVar

from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LatestVersions:
    """The newest `count` versions."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class AllVersions:
    """All versions."""


@dataclass(frozen=True, slots=True)
class SpecificVersions:
    """The versions with these numbers."""

    versions: frozenset[int]


Policy = LatestVersions | AllVersions | SpecificVersions


def select_versions(policy: Policy, available: Mapping[int, str]) -> dict[int, str]:
    """Return the versions to serve out of those that exist, with their paths."""
    match policy:
        case LatestVersions(count):
            chosen = sorted(available)[-max(count, 1) :]
        case SpecificVersions(versions):
            chosen = sorted(available.keys() & versions)
        case AllVersions():
            chosen = sorted(available)
    return {number: available[number] for number in chosen}


class LoadStage(Enum):
    """Stage in the life of a managed version."""

    NEW = "new"
    LOADING = "loading"
    READY = "ready"
    UNLOADING = "unloading"
    FAILED = "failed"


class PolicyVersion(Protocol):
    """The part of a version that the policy needs."""

    number: int
    aspired: bool
    """Whether it should be served (TensorFlow Serving's term)."""
    stage: LoadStage


class PolicyStep(Enum):
    LOAD = "load"
    UNLOAD = "unload"


V = TypeVar("V", bound=PolicyVersion)


def next_step(versions: Iterable[V]) -> tuple[PolicyStep, V] | None:
    """Return the next step of TensorFlow Serving's availability-preserving policy; None to wait."""
    known = list(versions)
    aspired = [v for v in known if v.aspired]
    obsolete = [v for v in known if not v.aspired and v.stage is LoadStage.READY]
    available = any(v.stage is LoadStage.READY for v in aspired)
    if obsolete and (not aspired or available or len(obsolete) > 1):
        return PolicyStep.UNLOAD, min(obsolete, key=lambda v: v.number)
    if new := [v for v in aspired if v.stage is LoadStage.NEW]:
        return PolicyStep.LOAD, max(new, key=lambda v: v.number)
    return None
