"""The models of a server: known ones by id, and the most recently used ones in memory.

The id of a model is a digest of its real path, so an address of the page is valid again after a restart.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import tfport
from tfport.errors import Error
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass, field
from tfport.web.allowed_paths import AllowedPaths
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.json_answer import RefusedRequest, unknown
from tfport.web.pages import size_on_disk

T = TypeVar("T")
UNREADABLE = 422
MOST_KNOWN = 1000


def model_id(real: str) -> str:
    """The id of the model at a resolved path."""
    return hashlib.sha256(os.fsencode(real)).hexdigest()[:16]


@dataclass(eq=False)
class LoadedModel:
    """A model in memory, with what was computed about it. One request at a time uses it."""

    path: str
    model: Model
    stamp: tuple[int, int]
    lock: threading.RLock = field(default_factory=threading.RLock)
    documents: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def graphs(self) -> ModelGraphs:
        return ModelGraphs(self.model)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """A document about it, made at the first request."""
        if key not in self.documents:
            self.documents[key] = make()
        document: T = self.documents[key]
        return document


@dataclass
class KnownModel:
    """A model that the page may open."""

    id: str
    path: str
    """The resolved path."""
    shown: str
    """The path as the user wrote it."""
    kind: str = ""
    example: bool = False

    @property
    def name(self) -> str:
        parts = [part for part in self.path.split(os.sep) if part]
        name = next((part for part in reversed(parts) if not part.isdecimal()), self.path)
        return name if not parts or name == parts[-1] else f"{name}/{parts[-1]}"


class ModelStore:
    """Models by id; those in memory are the last ones used."""

    def __init__(self, allowed: AllowedPaths, *, most_open: int) -> None:
        self.allowed = allowed
        self._most_open = most_open
        self._known: dict[str, KnownModel] = {}
        self._loaded: OrderedDict[str, LoadedModel] = OrderedDict()
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}

    def add(self, path: str, *, example: bool = False) -> KnownModel:
        """Know a model at an allowed path, without reading it."""
        real = self.allowed.resolve(path)
        id = model_id(real)
        with self._lock:
            known = self._known.pop(id, None) or KnownModel(id, real, path, example=example)
            while len(self._known) >= MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[id] = known
            return known

    def forget(self, id: str) -> None:
        with self._lock:
            if self._known.pop(id, None) is None:
                raise unknown(f"there is no model {id}")
            self._loaded.pop(id, None)

    def find(self, id: str) -> KnownModel:
        known = self._known.get(id)
        if known is None:
            raise unknown(f"there is no model {id}; open it again")
        return known

    def all(self) -> list[KnownModel]:
        """All models, the last added first."""
        return list(reversed(self._known.values()))

    def is_loaded(self, id: str) -> bool:
        return id in self._loaded

    def load(self, id: str) -> LoadedModel:
        """The model in memory; it is read if it is not there, or if its file changed."""
        known = self.find(id)
        with self._lock:
            lock = self._loading.setdefault(id, threading.Lock())
        with lock:
            stamp = _stamp(known.path)
            with self._lock:
                loaded = self._loaded.get(id)
                if loaded is not None and loaded.stamp == stamp:
                    self._loaded.move_to_end(id)
                    return loaded
            loaded = self._read(known, stamp)
            with self._lock:
                self._loaded[id] = loaded
                self._loaded.move_to_end(id)
                while len(self._loaded) > self._most_open:
                    self._loaded.popitem(last=False)
            return loaded

    def _read(self, known: KnownModel, stamp: tuple[int, int]) -> LoadedModel:
        self.allowed.verify(known.path)
        try:
            model = tfport.load(known.path)
        except RefusedRequest:
            raise
        except Error as error:
            raise RefusedRequest(UNREADABLE, str(error)) from None
        self.allowed.verify(known.path)
        known.kind = model.format.key
        return LoadedModel(known.path, model, stamp)

    def entry(self, known: KnownModel) -> dict[str, Any]:
        """The document ModelEntry."""
        return {
            "id": known.id,
            "path": known.path,
            "name": known.name,
            "kind": known.kind,
            "bytes": size_on_disk(known.path),
            "opened": self.is_loaded(known.id),
            "example": known.example,
        }


def _stamp(path: str) -> tuple[int, int]:
    """What changes when a model is written again."""
    for name in (os.path.join(path, "saved_model.pb"), os.path.join(path, "model.json"), path):
        try:
            status = os.stat(name)
        except OSError:
            continue
        return status.st_mtime_ns, status.st_size
    return 0, 0
