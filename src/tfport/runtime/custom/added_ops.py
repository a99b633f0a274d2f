"""The ops that users add: Python files (`--ops`), executed once per process, and libraries (`--library`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tfport.errors import Error
from tfport.frontends.keras.layer import CUSTOM_CLASSES, CUSTOM_LAYERS
from tfport.python_file import execute
from tfport.runtime.custom.registry import PROCESS_WIDE, Registry

HOW_TO_DECLARE = (
    '`import tfport`, then functions under `@tfport.op("Name: (x: float) -> y: float")` '
    'and `@tfport.kernel("Name")`, or `@tfport.layer("MyLayer")` for a Keras layer'
)

_executed: set[str] = set()


def load_ops_files(paths: Iterable[str]) -> None:
    """Execute files, each once, which register their ops and kernels for the whole process."""
    for path in paths:
        if os.path.abspath(path) in _executed:
            continue
        before = _declared()
        execute(path, "custom ops")
        if _declared() == before:
            raise Error(f"{path}: declares no custom op and no layer; expected {HOW_TO_DECLARE}")
        _executed.add(os.path.abspath(path))


def registry_with(libraries: Sequence[str], ops_files: Sequence[str] = ()) -> Registry:
    """The ops of libraries built by `tfport lib build`, layered on those of packages and Python files."""
    registry = Registry(PROCESS_WIDE.ready())
    if ops_files:
        load_ops_files(ops_files)
    if libraries:
        from tfport.runtime.native.load import load_op_library  # only if needed

        for path in libraries:
            load_op_library(path, registry)
    return registry


def _declared() -> list[tuple[str, int]]:
    """The ops of the process, each with the number of its kernels, and its Keras layers."""
    ops = [(registered.op, len(registered.kernels)) for registered in PROCESS_WIDE.table()]
    return [
        *ops,
        *((name, id(layer)) for layers in (CUSTOM_CLASSES, CUSTOM_LAYERS) for name, layer in layers.items()),
    ]
