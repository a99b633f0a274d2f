"""What this program calls itself on paper."""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def own_version() -> str:
    try:
        return metadata.version("tfport")
    except metadata.PackageNotFoundError:  # run from a checkout that nobody installed
        return "unknown"


def own_name() -> str:
    return f"tfport {own_version()}"
