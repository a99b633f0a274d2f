"""A registry with the ops of libraries and Python files, for the options `--library` and `--ops`."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.custom.registry import PROCESS_WIDE, Registry


def registry_with(libraries: Sequence[str], ops_files: Sequence[str] = ()) -> Registry:
    """The ops of libraries built by `tfport lib build`, layered on those of packages and Python files."""
    registry = Registry(PROCESS_WIDE.ready())
    if ops_files:
        from tfport.runtime.custom.ops_file import load_ops_files  # only if needed

        load_ops_files(ops_files)
    if libraries:
        from tfport.runtime.native.load import load_op_library  # only if needed

        for path in libraries:
            load_op_library(path, registry)
    return registry
