"""Import aiohttp's server without its client.

`import aiohttp` imports both, and the client takes a twentieth of the time until a server answers. It also
reads every certificate that the system trusts, which takes even longer. A custom op may use the client:
whatever is asked of the package that it does not have yet completes it. Some modules that the server imports
are not used either, or only for few requests; they are deferred.

    import_server_only()
    from aiohttp import web
"""

from __future__ import annotations

import email as email  # `defer` lets these packages have the modules that it defers
import importlib
import importlib.util
import re
import sys
import threading
import urllib as urllib
from types import ModuleType
from typing import Any

from tfport.startup.deferred_module import defer

NAME = "aiohttp"
DEFERRED = (
    ("aiohttp.web_fileresponse", "FileResponse"),  # reads the system's list of file types
    ("attr.validators",),
    ("email.policy", "HTTP"),  # for requests that state a content type
    ("urllib.request", "getproxies", "proxy_bypass"),  # for the client
)
"""Modules that are imported only when they are used, and what aiohttp imports from them."""
_VERSION = rb'^__version__ = "([^"]+)"'
_completing = threading.RLock()


def import_server_only() -> None:
    """Let `import aiohttp` return a package that has its modules, and all else when it is used."""
    spec = importlib.util.find_spec(NAME) if NAME not in sys.modules else None
    version = _version(spec.origin) if spec is not None and spec.origin is not None else ""
    if spec is not None and version:  # the modules of the server need it
        package = importlib.util.module_from_spec(spec)
        package.__class__ = ServerPackage
        package.__version__ = version  # type: ignore[attr-defined]
        sys.modules[NAME] = package
        for module, *imported in DEFERRED:
            defer(module, *imported)


def _version(path: str) -> str:
    """The version that the source of the package states; empty if it cannot be read, as in an archive."""
    try:
        with open(path, "rb") as file:
            stated = re.search(_VERSION, file.read(4096), re.MULTILINE)
    except OSError:
        return ""
    return stated[1].decode() if stated else ""


class ServerPackage(ModuleType):
    """The package before its `__init__` has run; a usual module afterwards."""

    _begun = False

    def __getattr__(self, name: str) -> Any:
        """Return a module of the package, or complete it."""
        if name.startswith("__") and name != "__all__":  # the import system asks for some
            raise AttributeError(name)
        try:
            return importlib.import_module(f"{NAME}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{NAME}.{name}":
                raise
        with _completing:
            if type(self) is ServerPackage and not self._begun:
                self._begun = True
                assert self.__spec__ is not None
                assert self.__spec__.loader is not None
                self.__spec__.loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
        if name in self.__dict__ or type(self) is ModuleType:
            return getattr(self, name)
        raise AttributeError(f"module {NAME!r} has no attribute {name!r}")
