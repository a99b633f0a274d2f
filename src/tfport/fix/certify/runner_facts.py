"""What ran the models: the runtime, its version, its Python and its machine, for the certificate."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from typing import Any

from tfport.fix.certify.version import own_version
from tfport.startup.dataclass import dataclass, replace

OURS = ("numpy", "onnxruntime", "openvino", "ai-edge-litert", "ml-dtypes", "protobuf")
"""Packages that decide what tfport's runtime computes."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """The wheel from which a runtime was installed."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class RunnerFacts:
    """A runtime that ran the models."""

    runtime: str
    version: str = ""
    python: str = ""
    numpy: str = ""
    system: str = ""
    machine: str = ""
    is_target: bool = False
    """Whether it was run as the target of the rewrite."""
    runs: int = 1
    """How often the rewritten model was run, each time in a new process."""
    crashes: int = 0
    """How many of these processes crashed."""
    expected: str = ""
    """The version of the target, if it is known."""
    wheel: Wheel | None = None

    @property
    def name(self) -> str:
        return f"{self.runtime} {self.version or '(unknown)'}, Python {self.python or '(unknown)'}"

    def updated(self, about: dict[str, Any]) -> RunnerFacts:
        """With what the process says about itself."""
        names = ("runtime", "version", "python", "numpy", "system", "machine")
        known: dict[str, Any] = {name: str(about[name]) for name in names if name in about}
        return replace(self, **known)


@cache
def own_facts() -> RunnerFacts:
    """This process, with tfport's own runtime."""
    return RunnerFacts(
        "tfport",
        own_version(),
        platform.python_version(),
        installed_versions().get("numpy", ""),
        platform.platform(),
        platform.machine(),
    )


@cache
def installed_versions() -> dict[str, str]:
    """The versions of the packages that tfport's runtime uses."""
    versions = {}
    for package in OURS:
        for name in (package, f"{package}-gpu"):
            try:
                versions[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
    return versions
