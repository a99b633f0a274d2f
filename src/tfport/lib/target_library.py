"""A custom-op library on a target: what it adds, and whether the target loads it.

A library is a source of the target's registry, also where it does not load: so its ops are
known, and a model that uses them fails because of the library, not because of an unknown op.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence

from tfport.atlas.target import OURS, Target
from tfport.check.findings.finding import ERROR, Finding
from tfport.errors import UnreadableFile
from tfport.extras import require
from tfport.lib.diagnosis import FAILS, LOADS, diagnose
from tfport.lib.subject import LibrarySubject
from tfport.registry.library import LibrarySource
from tfport.registry.registry import OpRegistry
from tfport.startup.dataclass import replace


class TargetLibrary(LibrarySource):
    """A library as a source of a target's registry, and the verdict of the target on it."""

    def __init__(self, subject: LibrarySubject, target: Target) -> None:
        super().__init__(os.path.basename(subject.file), subject.registered)
        self.result = diagnose(subject, target)

    @property
    def errors(self) -> list[Finding]:
        """Why it does not load."""
        return [finding for finding in self.result.findings if finding.severity == ERROR]

    @property
    def partial(self) -> bool:
        """Whether it may register more than was read; a library that does not load registers nothing."""
        return super().partial and self.result.verdict != FAILS

    def note(self) -> str:
        codes = ", ".join(dict.fromkeys(finding.code for finding in self.errors))
        on = f"on {self.result.target.name}"
        if self.result.verdict == LOADS:
            return f"{self.name} loads {on}"
        why = "does not load" if self.result.verdict == FAILS else "may not load"
        return f"{self.name} {why} {on}: {codes}"


def library_subjects(paths: Iterable[str]) -> list[LibrarySubject]:
    """The libraries at paths, to use with any target; raises UnreadableFile for another file."""
    require("lib", "--library")
    subjects = [LibrarySubject(os.fspath(path), os.fspath(path)) for path in paths]
    for subject in subjects:
        if not os.path.exists(subject.path):
            raise UnreadableFile(f"{subject.file}: no such file")
        subject.registered  # noqa: B018  reads the library
    return subjects


def with_subjects(target: Target, subjects: Sequence[LibrarySubject]) -> Target:
    """A target with the ops of libraries."""
    if target.kind == OURS:
        names = " + ".join(os.path.basename(subject.file) for subject in subjects)
        return replace(
            target, notes=[*target.notes, f"{names}: a TensorFlow library, which tfport does not load"]
        )
    libraries = tuple(TargetLibrary(subject, target) for subject in subjects)
    registry = target.registry
    names = " + ".join(library.name for library in libraries)
    return replace(
        target,
        name=f"{target.name} + {names}",
        registry=OpRegistry(
            f"{registry.name} + {names}", [*registry.sources, *libraries], registry.selection
        ),
        libraries=libraries,
        add_libraries=functools.partial(with_subjects, subjects=subjects),
        notes=[*target.notes, *(library.note() for library in libraries)],
    )
