"""Sort keys of release numbers: 2.10.1 comes after 2.9.3, and 2.8.0rc1 before 2.8.0."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tfport.errors import Error

if TYPE_CHECKING:
    from packaging.version import Version


@functools.lru_cache(4096)
def version_key(version: str) -> Version:
    """Return the sort key of a release; raise Error if it is not a release number."""
    # imported here, because looking up ops does not need it
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version)
    except InvalidVersion:
        raise Error(f"{version!r} is not a release number; expected one such as 2.8.4") from None
