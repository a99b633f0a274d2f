"""A module that another package imports and hardly ever uses: it is imported when something of it is used.

    defer("google.protobuf.internal.python_message")
    defer("urllib.request", "getproxies")      for others that do `from urllib.request import getproxies`

A module in `sys.modules` that is there already stays.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def defer(name: str, *imported: str) -> None:
    """Let `import name` return a stand-in, until one of its attributes is read.

    `imported`: functions, classes and types that others import from it by name; they are stand-ins too.
    """
    if name not in sys.modules:
        module = sys.modules[name] = DeferredModule(name)
        for attribute in imported:
            setattr(module, attribute, DeferredValue(module, attribute))
        package, _, last = name.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], last, module)


class DeferredModule(ModuleType):
    """Stands for a module that is not imported yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)  # without one, `find_spec` raises an error

    def __getattr__(self, name: str) -> Any:
        """Read an attribute of the real module; the import system asks for some with underscores."""
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        module = imported_module(self)
        if name == "__all__" and not hasattr(module, name):  # what `from … import *` takes then
            return [public for public in vars(module) if not public.startswith("_")]
        return getattr(module, name)


class DeferredValue:
    """Stands for something of a module that is not imported yet."""

    def __init__(self, module: DeferredModule, name: str, *items: Any) -> None:
        self._place = module, name, items

    def _value(self) -> Any:
        module, name, items = self._place
        value = getattr(imported_module(module), name)
        for item in items:
            value = value[item]
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._value(), name)

    def __getitem__(self, item: Any) -> DeferredValue:
        """Return a type with its parameters: annotations have it, and hardly anything reads them."""
        module, name, items = self._place
        return DeferredValue(module, name, *items, item)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._value()(*args, **kwargs)

    def __or__(self, other: Any) -> Any:
        return self._value() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._value()

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._value(),)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._value())


def imported_module(deferred: DeferredModule) -> ModuleType:
    """Import the module that a stand-in stands for."""
    name = deferred.__name__
    if sys.modules.get(name) is deferred:
        del sys.modules[name]
    module = importlib.import_module(name)
    for attribute, value in list(vars(deferred).items()):
        if isinstance(value, DeferredValue):  # from now on, the real one is found
            vars(deferred).pop(attribute, None)
    return module
