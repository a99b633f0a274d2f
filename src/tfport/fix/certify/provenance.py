"""How a certificate was made: when, by which command, with which versions, on which machine."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from functools import cache
from typing import Any

from tfport.extras import installed_version
from tfport.startup.dataclass import dataclass, field, replace

OURS = ("numpy", "onnxruntime", "openvino", "ai-edge-litert", "ml-dtypes", "protobuf")
"""Packages that decide what tfport's runtime computes."""


@cache
def own_version() -> str:
    return installed_version("tfport") or "unknown"  # a checkout that is not installed


def own_name() -> str:
    return f"tfport {own_version()}"


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
    names = [name for package in OURS for name in (package, f"{package}-gpu")]
    return {name: version for name in names if (version := installed_version(name)) is not None}


@dataclass(frozen=True, slots=True)
class InputsFile:
    """A file with inputs of the user."""

    path: str
    sha256: str


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a certificate was made."""

    command: str = ""
    """The command line; empty if tfport was called from Python."""
    date: str = field(default_factory=_now)
    """In UTC."""
    inputs_files: tuple[InputsFile, ...] = ()
    tfport: str = field(default_factory=own_version)
    python: str = field(default_factory=platform.python_version)
    packages: dict[str, str] = field(default_factory=installed_versions)
    """The versions of the packages that tfport computes with."""
    system: str = field(default_factory=platform.platform)
    machine: str = field(default_factory=platform.machine)
