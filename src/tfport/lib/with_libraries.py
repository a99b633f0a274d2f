"""Add custom-op libraries to targets; they are read, never loaded.

`target_library` does the work. It is imported here where there is a library, as few targets have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.atlas.target import Target


def with_libraries(targets: Sequence[Target], paths: Iterable[str]) -> Sequence[Target]:
    """The targets with the ops of the libraries at paths."""
    if not (named := list(paths)):
        return targets
    from tfport.lib.target_library import library_subjects, with_subjects

    subjects = library_subjects(named)
    return [with_subjects(target, subjects) for target in targets]
