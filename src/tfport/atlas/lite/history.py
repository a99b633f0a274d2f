"""The history of a builtin op of TensorFlow Lite: since which interpreter each version is registered."""

from __future__ import annotations

from typing import Any

from tfport.atlas.lite.releases import (
    LITERT,
    TENSORFLOW,
    TFLITE_RUNTIME,
    lite_op_numbers,
    lite_release,
    lite_versions,
)
from tfport.startup.dataclass import dataclass

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
