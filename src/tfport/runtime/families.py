"""The files that declare ops. Which file declares which op is written down, so that a session loads few.

`families.json` is made by `make index`: each module with the ops that it declares.
"""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
from collections.abc import Iterator
from importlib import resources

from tfport.runtime import kernels, lowerings

INDEX = "families.json"
STRUCTURES = ("calls", "control.functional", "control.raised", "xla.calls", "xla.module")


@functools.cache
def declare(op: str) -> None:
    """Load what declares an op."""
    for module in _index().get(op, ()):
        importlib.import_module(module)


@functools.cache
def load() -> None:
    """Declare all ops."""
    for module in modules():
        importlib.import_module(module)


def modules() -> Iterator[str]:
    """Every module that may declare ops."""
    for name in STRUCTURES:
        yield f"tfport.runtime.{name}"
    for package in (lowerings, kernels):
        for found in pkgutil.iter_modules(package.__path__):
            yield f"{package.__name__}.{found.name}"


@functools.cache
def _index() -> dict[str, list[str]]:
    """The modules that declare something of each op."""
    text = resources.files("tfport.runtime").joinpath(INDEX).read_text()
    found: dict[str, list[str]] = {}
    for module, ops in json.loads(text).items():
        for op in ops.split():
            found.setdefault(op, []).append(f"tfport.runtime.{module}")
    return found
