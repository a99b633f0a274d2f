"""A registry with the ops of libraries that somebody names, for commands."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.custom.registry import PROCESS_WIDE, Registry


def registry_with(paths: Sequence[str]) -> Registry:
    """The ops of libraries that `tfport lib build` made, over those that installed packages bring."""
    registry = Registry(PROCESS_WIDE.ready())
    if paths:
        from tfport.runtime.native.load import load_op_library  # few have any

        for path in paths:
            load_op_library(path, registry)
    return registry
