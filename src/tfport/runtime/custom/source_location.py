"""Where a declaration stands, and who brings it: `my_ops.py:12`, or `acme-ops 1.0: acme/ops.py:12`."""

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
def brought_by(package: str) -> Iterator[None]:
    """What is declared meanwhile comes from a package."""
    token = _PACKAGE.set(package)
    try:
        yield
    finally:
        _PACKAGE.reset(token)


def here() -> str:
    """The line of the program that is declaring something."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _OURS:
        frame = frame.f_back
    return _said(frame.f_code.co_filename, frame.f_lineno)


def place_of(function: Callable[..., Any]) -> str:
    """Where a function is written; where it is declared, if nothing tells."""
    code = getattr(function, "__code__", None)
    return _said(code.co_filename, code.co_firstlineno) if code is not None else here()


def _said(file: str, line: int) -> str:
    path, folder = os.path.abspath(file), os.getcwd()
    shown = os.path.relpath(path, folder) if path.startswith(folder + os.sep) else file
    return with_package(f"{shown}:{line}")


def with_package(provider: str) -> str:
    """A provider with the package that is being loaded, if one is."""
    package = _PACKAGE.get()
    return f"{package}: {provider}" if package and not provider.startswith(f"{package}: ") else provider
