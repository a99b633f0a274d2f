"""What a session keeps between runs: variables, tables and whatever else has a name, safely under threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfport.errors import RunFailed, UnreadableFile
from tfport.formats.checkpoint.read import Checkpoint, open_checkpoint
from tfport.graph.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.graph.model import Model
    from tfport.runtime.operand import Dims

R = TypeVar("R")


class Variable:
    """A variable of either kind: resource, or TF1's reference."""

    def __init__(self, name: str, dtype: DType, shape: Dims | None, state: State) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self.value: NDArray[Any] | None = None
        self.changes = False
        """Whether something assigned to it after plans had taken its value for constant."""
        self.lock = threading.RLock()
        self._state = state

    def read(self) -> NDArray[Any]:
        if self.value is None:
            raise RunFailed(f"variable `{self.name}` is read before anything was assigned to it")
        return self.value

    def assign(self, value: NDArray[Any]) -> None:
        """A new value; the array is kept as it is and never written to."""
        with self.lock:
            self.value = np.asarray(value)  # arithmetic on scalars gives numpy's own, which no engine takes
            self._state.changed(self)

    def update(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """Assign what a function makes of the value, with nobody between."""
        with self.lock:
            made = np.asarray(change(self.read()))  # of scalars NumPy makes no arrays
            self.assign(made)
            return made


class State:
    """The resources of one session by kind and name, and the files of its model."""

    def __init__(self, model: Model | None = None) -> None:
        self.model = model
        self.version = 0
        """Counts the times that a variable changed which plans had taken for constant."""
        self.baked: set[Variable] = set()
        self._lock = threading.RLock()
        self._named: dict[tuple[type, str], Any] = {}

    def resource(self, kind: type[R], name: str, make: Callable[[], R]) -> R:
        """The resource of this kind and name, made when first asked for."""
        with self._lock:
            if (kind, name) not in self._named:
                self._named[kind, name] = make()
            found: R = self._named[kind, name]
            return found

    def variable(self, name: str, dtype: DType, shape: Dims | None) -> Variable:
        """The variable of this name."""
        return self.resource(Variable, name, lambda: Variable(name, dtype, shape, self))

    def is_set(self, name: str) -> bool:
        """Whether there is a variable of this name, with a value."""
        found = self._named.get((Variable, name))
        return found is not None and found.value is not None

    def changed(self, variable: Variable) -> None:
        if variable in self.baked:
            with self._lock:
                variable.changes = True
                self.baked.discard(variable)
                self.version += 1

    def checkpoint(self, prefix: str) -> Checkpoint:
        """The model's own checkpoint, or another beside it; a model is not let read anything else."""
        if self.model is None:
            raise RunFailed(f"there is no checkpoint {prefix}: this graph came without files")
        if prefix == self.model.checkpoint_prefix and self.model.checkpoint is not None:
            return self.model.checkpoint
        if not _is_inside(prefix):
            raise RunFailed(f"{prefix}: no checkpoint of this model; a model may read its own files only")
        try:
            return open_checkpoint(self.model.files, prefix)
        except UnreadableFile as error:
            raise RunFailed(str(error)) from None

    def read_file(self, name: str) -> memoryview:
        """A file of the model, by its name within the model."""
        if self.model is None or not _is_inside(name) or not self.model.files.has(name):
            raise RunFailed(f"{name}: no file of this model; a model may read its own files only")
        return memoryview(self.model.files.map(name))


def _is_inside(name: str) -> bool:
    """Whether a name stays below the folder that it is joined to."""
    parts = name.replace("\\", "/").split("/")
    return bool(parts[0]) and ".." not in parts and ":" not in parts[0]


def as_bytes(array: NDArray[Any]) -> bytes:
    """The one string in an array."""
    value = np.asarray(array).reshape(-1)[0]
    return value if isinstance(value, bytes) else str(value).encode()
