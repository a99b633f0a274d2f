"""Compare whether op libraries load in two environments, with the verdicts of `tfport lib`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tfport.atlas.environment import Environment
from tfport.atlas.system_image import is_image
from tfport.check.findings.finding import Finding
from tfport.errors import Error, UnreadableFile
from tfport.lib.diagnosis import FAILS, UNKNOWN, LibraryResult, diagnose
from tfport.lib.files import LibraryFile, libraries_in
from tfport.lib.subject import LibrarySubject, LoadOptions
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class LibraryComparison:
    """The verdicts of both environments on one library."""

    file: str
    build: LibraryResult
    runtime: LibraryResult

    @property
    def breaks(self) -> bool:
        """Whether it does not load in the second environment, and may load in the first."""
        return self.runtime.verdict == FAILS and self.build.verdict != FAILS

    @property
    def fails(self) -> bool:
        """Whether it does not load in the second environment."""
        return self.runtime.verdict == FAILS

    @property
    def findings(self) -> list[Finding]:
        """Why it does not load in the second environment, or why that is unknown."""
        return [] if self.runtime.verdict not in (FAILS, UNKNOWN) else self.runtime.findings

    @property
    def unknown(self) -> str:
        """Why it is unknown whether it loads in the second environment; empty if it is known."""
        if self.runtime.verdict != UNKNOWN:
            return ""
        reasons = [finding.doubt or finding.message for finding in self.runtime.findings][:1]
        return f"whether {self.file} loads on {self.runtime.target.name} is unknown: {'; '.join(reasons)}"


def compare_libraries(
    names: Sequence[str], build: Environment, runtime: Environment
) -> list[LibraryComparison]:
    """Diagnose every op library in files, folders and wheels in both environments."""
    if missing := next((name for name in names if not os.path.exists(name)), None):
        raise UnreadableFile(f"{missing}: no such file or folder; expected a custom-op library")
    with libraries_in(list(names)) as collection:
        return [
            LibraryComparison(library.file, _diagnose(library, build), _diagnose(library, runtime))
            for library in collection.libraries
        ]


def _diagnose(library: LibraryFile, environment: Environment) -> LibraryResult:
    if environment.target is None:
        raise Error("; ".join(environment.notes))
    path = os.path.expanduser(environment.name)
    image = path if os.path.isdir(path) and is_image(path) else None
    options = LoadOptions(
        sysroot=image, python=environment.python or None, machine=environment.system.machine or None
    )
    return diagnose(LibrarySubject.of(library, options), environment.target)
