"""Make a registry with the ops of libraries, for the option `--library` of commands."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.custom.registry import PROCESS_WIDE, Registry


def registry_with(paths: Sequence[str]) -> Registry:
    """The ops of libraries built by `tfport lib build`, layered on those of installed packages."""
    registry = Registry(PROCESS_WIDE.ready())
    if paths:
        from tfport.runtime.native.load import load_op_library  # only if needed

        for path in paths:
            load_op_library(path, registry)
    return registry
