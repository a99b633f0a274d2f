"""The source location and package of a declaration: `my_ops.py:12`, `acme-ops 1.0: acme/ops.py:12`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_PACKAGE: ContextVar[str] = ContextVar("_PACKAGE", default="")
_OURS = os.path.dirname(os.path.abspath(__file__))


@contextmanager
def declared_by_package(package: str) -> Iterator[None]:
    """Attribute what is declared in this context to a package."""
    token = _PACKAGE.set(package)
    try:
        yield
    finally:
        _PACKAGE.reset(token)


def call_site() -> str:
    """The line of the calling program that declares something."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _OURS:
        frame = frame.f_back
    return _location(frame.f_code.co_filename, frame.f_lineno)


def location_of(function: Callable[..., Any]) -> str:
    """Where a function is defined; for a function without source, where it is declared."""
    code = getattr(function, "__code__", None)
    return _location(code.co_filename, code.co_firstlineno) if code is not None else call_site()


def _location(file: str, line: int) -> str:
    path, folder = os.path.abspath(file), os.getcwd()
    shown = os.path.relpath(path, folder) if path.startswith(folder + os.sep) else file
    return with_package(f"{shown}:{line}")


def with_package(provider: str) -> str:
    """A provider, prefixed with the package that is being loaded, if any."""
    package = _PACKAGE.get()
    return f"{package}: {provider}" if package and not provider.startswith(f"{package}: ") else provider
