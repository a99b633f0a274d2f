"""The name and version of tfport in certificates."""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def own_version() -> str:
    try:
        return metadata.version("tfport")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "unknown"


def own_name() -> str:
    return f"tfport {own_version()}"
