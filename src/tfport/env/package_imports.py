"""Whether a package can be imported beside a TensorFlow and a Keras, by what it imports from them.

`package_imports.json.xz` has the imports of companion packages that some release does not satisfy, as
`tools/atlas/package_imports.py` reads them from the wheels. The recorded Python names of each minor
release of TensorFlow and Keras say whether one does.
"""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfport.atlas.versions import version_key
from tfport.explain.python_names import Presence, presence

RECORDED = Path(__file__).with_name("package_imports.json.xz")


def failing_import(package: str, version: str, tensorflow: str, keras: Sequence[str]) -> str | None:
    """The module or name that a package imports and that is not there; None if nothing is known to fail.

    `keras` has the versions that may be installed; none if that is unknown.
    """
    minor = _minor(tensorflow)
    for wanted, (first, last) in _record().get(package, {}).get(version, {}).items():
        is_reached = version_key(first) <= version_key(minor) <= version_key(last)
        beside = [tensorflow] if wanted.startswith("tensorflow") else keras
        if is_reached and beside and (missing := _missing(wanted, beside)):
            return missing
    return None


def _missing(wanted: str, releases: Sequence[str]) -> str | None:
    """The module, or the name in it, that none of the releases has."""
    module, _, name = wanted.partition(":")
    if _is_in_none(presence(module), releases):
        return module
    return f"{module}.{name}" if name and _is_in_none(presence(module, name), releases) else None


def _is_in_none(found: Presence | None, releases: Sequence[str]) -> bool:
    """Whether some release has a name, and none of these; later ones than those recorded may have it."""
    return found is not None and bool(found.spans) and not any(_may_have(found, r) for r in releases)


def _may_have(found: Presence, release: str) -> bool:
    minor = version_key(_minor(release))
    return minor > version_key(found.newest) or any(
        version_key(first) <= minor <= version_key(last) for first, last in found.spans
    )


def _minor(release: str) -> str:
    return ".".join(map(str, version_key(release).release[:2]))


@functools.cache
def _record() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(lzma.decompress(RECORDED.read_bytes()))
    return recorded
