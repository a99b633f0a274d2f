"""Where declarations are found: ops, rules, findings, commands and report formats.

A declaration is a decorator that adds to a `Catalog`. `index.json` says which module declares
which name, so that a process imports only the modules it needs; `make index` writes it.

    KERNELS = Catalog[Declared]("kernels", "tfport.runtime.ops")
    KERNELS.add("Abs", …)      # what a decorator does
    KERNELS.of("Abs")          # imports the modules that declare it
    KERNELS.all()              # imports every module of the package
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, ClassVar, Generic, TypeVar

from tfport.errors import Error

T = TypeVar("T")
INDEX = "index.json"
STALE = "run `make index`"
_importing = threading.RLock()
"""One thread imports at a time: two that import modules in a circle would see unfinished ones."""


class Catalog(Generic[T]):
    """The declarations of one kind, by name."""

    every: ClassVar[dict[str, Catalog[Any]]] = {}
    """All catalogs by kind."""
    recording: ClassVar[bool] = False
    """Whether to note which module declares what: `make index` does."""

    def __init__(self, kind: str, *packages: str) -> None:
        self.kind = kind
        self.packages = packages
        """Their modules, at any depth, may declare entries."""
        self.entries: dict[str, list[T]] = {}
        """What was declared so far."""
        self.origins: dict[str, set[str]] = {}
        """Names by declaring module, while recording."""
        self._loaded: set[str] = set()
        Catalog.every[kind] = self

    def add(self, name: str, entry: T) -> None:
        """Declare an entry; a name may have several, in the order of their declaration."""
        self.entries.setdefault(name, []).append(entry)
        if Catalog.recording:
            self.origins.setdefault(_executing(self.packages), set()).add(name)

    def of(self, name: str) -> list[T]:
        """The entries of a name, after importing the modules that declare them."""
        if name not in self._loaded:
            with _importing:
                for module in _modules_by_name(self.kind).get(name, ()):
                    _import(module)
                self._loaded.add(name)  # now that the entries are there, for all threads
        return self.entries.get(name, [])

    def names(self) -> list[str]:
        """Every name in the index, in its order; imports nothing."""
        return list(_modules_by_name(self.kind))

    def all(self) -> dict[str, list[T]]:
        """All entries, after importing every module of the packages."""
        for package in self.packages:
            load_package(package)
        return self.entries

    def lacks(self, name: str) -> bool:
        """Whether a checkout declares a name that its index does not have."""
        return name not in _modules_by_name(self.kind) and in_checkout() and name in self.all()


@functools.cache
def load_package(package: str) -> None:
    """Import a package and every module below it."""
    for module in modules_of(package):
        importlib.import_module(module)


def modules_of(package: str) -> Iterator[str]:
    """Every module below a package, in the order of their names."""
    import pkgutil  # here, as few processes need it

    root = importlib.import_module(package)
    if hasattr(root, "__path__"):
        for module in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not module.ispkg:
                yield module.name


def in_checkout() -> bool:
    """Whether this is a working copy, whose index may be stale."""
    return os.path.isfile(os.path.join(os.path.dirname(__file__), "..", "..", "pyproject.toml"))


def _import(module: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise Error(f"{INDEX} names the module {module}, which does not exist; {STALE}") from error


@functools.cache
def _modules_by_name(kind: str) -> dict[str, list[str]]:
    """The modules that declare each name of a kind."""
    names: dict[str, list[str]] = {}
    for module, declared in _index().get(kind, {}).items():
        for name in declared.split():
            names.setdefault(name, []).append(f"tfport.{module}")
    return names


@functools.cache
def _index() -> dict[str, dict[str, str]]:
    """The names that each module declares, separated by spaces, by kind and module."""
    try:
        with open(os.path.join(os.path.dirname(__file__), INDEX), encoding="utf-8") as file:
            kinds: dict[str, dict[str, str]] = json.load(file)
    except FileNotFoundError as error:
        raise Error(f"{INDEX} does not exist; {STALE}") from error
    return kinds


def _executing(packages: tuple[str, ...]) -> str:
    """The module of these packages whose top level is being executed."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_name == "<module>" and module.startswith(packages):
            return module
        frame = frame.f_back
    raise AssertionError(f"expected a declaration in a module of {packages[0]}, found one elsewhere")
