"""What a session keeps between runs: variables, tables and other named resources. Thread-safe."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfport.errors import RunFailed, UnreadableFile
from tfport.formats.checkpoint.read import Checkpoint, open_checkpoint
from tfport.graph.dtypes import DType
from tfport.runtime.restore.restore_checks import unset_sentence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.formats.files import Files
    from tfport.graph.model import Model
    from tfport.runtime.operand import Dims

R = TypeVar("R")


class Variable:
    """A variable: a resource variable, or a TF1 reference variable."""

    def __init__(self, name: str, dtype: DType, shape: Dims | None, state: State) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self.value: NDArray[Any] | None = None
        self.changes = False
        """Whether something assigned to it after a plan had treated its value as constant."""
        self.lock = threading.RLock()
        self._state = state

    def read(self) -> NDArray[Any]:
        if self.value is None:
            raise RunFailed(unset_sentence(self._state.model, [self.name]))
        return self.value

    def assign(self, value: NDArray[Any]) -> None:
        """Set the value; the array is kept and never modified."""
        with self.lock:
            self.value = np.asarray(value)  # NumPy scalars become arrays: no engine takes them
            self._state.changed(self)

    def update(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """Assign `change(value)` atomically; the new value."""
        with self.lock:
            new = np.asarray(change(self.read()))
            self.assign(new)
            return new


class State:
    """The resources of a session by kind and name, and access to its model's files."""

    def __init__(self, model: Model | None = None) -> None:
        self.model = model
        self.version = 0
        """Incremented when a variable changes that plans had treated as constant: they are stale then."""
        self.baked: set[Variable] = set()
        self.as_restored = False
        """Whether no variable was assigned to since the model was restored and initialized."""
        self._lock = threading.RLock()
        self._named: dict[tuple[type, str], Any] = {}

    def resource(self, kind: type[R], name: str, make: Callable[[], R]) -> R:
        """The resource of this kind and name, made at its first use."""
        with self._lock:
            if (kind, name) not in self._named:
                self._named[kind, name] = make()
            resource: R = self._named[kind, name]
            return resource

    def resources(self) -> list[Any]:
        """All resources."""
        with self._lock:
            return list(self._named.values())

    def variable(self, name: str, dtype: DType, shape: Dims | None) -> Variable:
        """The variable of this name."""
        return self.resource(Variable, name, lambda: Variable(name, dtype, shape, self))

    def is_set(self, name: str) -> bool:
        """Whether the variable of this name exists and has a value."""
        variable = self._named.get((Variable, name))
        return variable is not None and variable.value is not None

    def variables(self) -> list[Variable]:
        return [resource for resource in self.resources() if isinstance(resource, Variable)]

    def changed(self, variable: Variable) -> None:
        self.as_restored = False
        if variable in self.baked:
            with self._lock:
                variable.changes = True
                self.baked.discard(variable)
                self.version += 1

    def checkpoint(self, prefix: str) -> Checkpoint:
        """The model's own checkpoint, or another in its folder; models may not read other files."""
        if self.model is None:
            raise RunFailed(f"cannot read checkpoint {prefix}: this model has no files")
        if prefix == self.model.checkpoint_prefix and self.model.checkpoint is not None:
            return self.model.checkpoint
        if not _is_inside(prefix):
            raise RunFailed(f"{prefix}: not a checkpoint of this model; models may only read their own files")
        try:
            return open_checkpoint(self.model.files, prefix)
        except UnreadableFile as error:
            raise RunFailed(str(error)) from None

    def read_file(self, name: str) -> memoryview:
        """A file of the model, by its path within the model."""
        if self.model is None or not _is_inside(name) or not self.model.files.has(name):
            raise RunFailed(f"{name}: not a file of this model; models may only read their own files")
        return memoryview(self.model.files.map(name))

    def own_files(self, name: str) -> Files:
        """The files of the model, for those whose names start with `name`."""
        if self.model is None or not _is_inside(name):
            raise RunFailed(f"{name}: not a file of this model; models may only read their own files")
        return self.model.files


def _is_inside(name: str) -> bool:
    """Whether a relative path stays inside its folder."""
    parts = name.replace("\\", "/").split("/")
    return bool(parts[0]) and ".." not in parts and ":" not in parts[0]


def as_bytes(array: NDArray[Any]) -> bytes:
    """The string in an array of one element."""
    value = np.asarray(array).reshape(-1)[0]
    return value if isinstance(value, bytes) else str(value).encode()
