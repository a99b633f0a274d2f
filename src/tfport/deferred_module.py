"""A module that another package imports and hardly ever uses: it is imported when something of it is used.

    defer("google.protobuf.internal.python_message")

A module in `sys.modules` that is there already stays.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


def defer(name: str) -> None:
    """Let `import name` return a stand-in, until one of its attributes is read."""
    if name not in sys.modules:
        sys.modules[name] = DeferredModule(name)


class DeferredModule(ModuleType):
    """Stands for a module that is not imported yet."""

    def __getattr__(self, name: str) -> Any:
        """Read an attribute of the real module; the import system asks for some with underscores."""
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)
