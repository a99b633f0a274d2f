"""How a certificate was made: when, by which command, with which versions, on which machine."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from tfport.fix.certify.runner_facts import installed_versions
from tfport.fix.certify.version import own_version
from tfport.startup.dataclass import dataclass, field


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
