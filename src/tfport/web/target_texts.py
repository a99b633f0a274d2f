"""Texts of targets in requests: a text that names a file or folder is allowed only below allowed paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from tfport.web.allowed_paths import AllowedPaths
from tfport.web.refused_request import bad_request

BETWEEN = re.compile(r"[\s,;]+")
MOST_TARGETS = 40
LONGEST = 500
HERE = "."
"""This Python environment."""


def checked_targets(targets: list[str], allowed: AllowedPaths) -> list[str]:
    """The targets, if they are not too many and name no file elsewhere."""
    if not targets or len(targets) > MOST_TARGETS:
        raise bad_request(f"`targets`: expected 1 to {MOST_TARGETS} targets")
    for target in targets:
        if len(target) > LONGEST:
            raise bad_request(f"a target has {len(target):,} characters; expected at most {LONGEST}")
        for path in _paths_in(target):
            allowed.resolve(path)
    return targets


def _paths_in(target: str) -> Iterator[str]:
    """Every part of a text that is the path of something."""
    for text in {target, target.strip(), *BETWEEN.split(target)}:
        for part in {text, *text.split("@")}:
            if part and part != HERE and "\0" not in part and os.path.lexists(os.path.expanduser(part)):
                yield part
