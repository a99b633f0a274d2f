"""Tables from keys to values: what they hold, and how it is found.

Values lie in one array, a row for each key; a dict tells the row of a key. Keys that are
numbers are looked up all at once in a sorted copy, which is made when it is first needed.
Every kind is safe under threads.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.graph.dtypes import DType

Shape = tuple[int, ...]
_FEW = 16
"""Keys that are looked up one by one, whatever their type."""


class LookupTable(ABC):
    """What every kind of table does."""

    takes_first_default = True
    """Of one default for each key, TensorFlow takes the first for all of them."""

    def __init__(
        self, name: str, key: DType, value: DType, value_shape: Shape = (), key_shape: Shape = ()
    ) -> None:
        self.name, self.key, self.value_type = name, key, value
        self.value_shape, self.key_shape = value_shape, key_shape
        self.lock = threading.RLock()
        self._rows: dict[Any, int] = {}
        self._values: NDArray[Any] = np.empty((0, *value_shape), value.numpy)
        self._free: list[int] = []
        self._sorted: tuple[NDArray[Any], NDArray[Any]] | None = None

    def size(self) -> int:
        return len(self._rows)

    def find(self, keys: NDArray[Any], default: NDArray[Any]) -> NDArray[Any]:
        """The value of each key, or the default: one for all, or one for each."""
        self._checked_types(keys, default)
        outer = self._outer(keys)
        default = self._default(default, (*outer, *self.value_shape))
        with self.lock:
            rows = self._rows_of(keys, outer)
            missing = rows < 0
            if not len(self._values):
                return np.broadcast_to(default, (*outer, *self.value_shape)).copy()
            found: NDArray[Any] = np.asarray(self._values[rows])  # of one key, no bare number
        if missing.any():
            found[missing] = np.broadcast_to(default, found.shape)[missing]
        return found

    def insert(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        raise RunFailed(f"table `{self.name}` is filled once and takes no more keys")

    def remove(self, keys: NDArray[Any]) -> None:
        raise RunFailed(f"table `{self.name}` is filled once and loses no keys")

    @abstractmethod
    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        """All that the table holds from now on."""

    def export(self) -> tuple[NDArray[Any], NDArray[Any]]:
        with self.lock:
            keys = np.empty((len(self._rows), *self.key_shape), self.key.numpy)
            for i, key in enumerate(self._rows):
                keys[i] = key
            return keys, self._values[list(self._rows.values())]

    def _default(self, default: NDArray[Any], full: Shape) -> NDArray[Any]:
        if default.shape not in (self.value_shape, full):
            raise RunFailed(
                f"the default of table `{self.name}` has shape {list(default.shape)}, not"
                f" {list(self.value_shape)}"
            )
        if self.takes_first_default and default.size and default.shape != self.value_shape:
            default = default.reshape(-1, *self.value_shape)[0, ...]
        return default

    def _checked_types(self, keys: NDArray[Any], values: NDArray[Any] | None = None) -> None:
        if keys.dtype != self.key.numpy or (values is not None and values.dtype != self.value_type.numpy):
            raise RunFailed(f"table `{self.name}` is from {self.key} to {self.value_type}")

    def _outer(self, keys: NDArray[Any]) -> Shape:
        """The shape of many keys, without that of one."""
        rank = keys.ndim - len(self.key_shape)
        if rank < 0 or keys.shape[rank:] != self.key_shape:
            raise RunFailed(f"the keys of table `{self.name}` have shape {list(self.key_shape)}")
        return keys.shape[:rank]

    def _listed(self, keys: NDArray[Any]) -> list[Any]:
        if not self.key_shape:
            found: list[Any] = keys.reshape(-1).tolist()
            return found
        return [tuple(row) for row in keys.reshape(-1, int(np.prod(self.key_shape))).tolist()]

    def _rows_of(self, keys: NDArray[Any], outer: Shape) -> NDArray[Any]:
        if keys.dtype.kind in "iu" and not self.key_shape and keys.size > _FEW:
            if self._sorted is None:
                there = np.fromiter(self._rows, keys.dtype, len(self._rows))
                order = np.argsort(there)
                self._sorted = there[order], np.fromiter(self._rows.values(), np.int64, len(there))[order]
            there, rows = self._sorted
            if not len(there):
                return np.full(outer, -1)
            at = np.minimum(np.searchsorted(there, keys), len(there) - 1)
            return np.where(there[at] == keys, rows[at], -1)
        listed = self._listed(keys)
        return np.fromiter(map(self._rows.get, listed, repeat(-1)), np.int64, len(listed)).reshape(outer)

    def _pairs(self, keys: NDArray[Any], values: NDArray[Any]) -> tuple[list[Any], NDArray[Any]]:
        """Keys and the rows of their values, or why they do not go together."""
        self._checked_types(keys, values)
        outer = self._outer(keys)
        if values.shape != (*outer, *self.value_shape):
            raise RunFailed(
                f"table `{self.name}` is given keys {list(keys.shape)} and values {list(values.shape)},"
                f" which should be {[*outer, *self.value_shape]}"
            )
        listed = self._listed(keys)
        return listed, values.reshape(len(listed), *self.value_shape)

    def _replace(self, keys: Sequence[Any], values: NDArray[Any]) -> None:
        self._rows = {key: i for i, key in enumerate(keys)}
        self._values = values.copy()
        self._free, self._sorted = [], None


class StaticTable(LookupTable):
    """Filled once, then only read."""

    filled = False

    def find(self, keys: NDArray[Any], default: NDArray[Any]) -> NDArray[Any]:
        if not self.filled:
            raise RunFailed(f"table `{self.name}` is read before it was initialised")
        return super().find(keys, default)

    def export(self) -> tuple[NDArray[Any], NDArray[Any]]:
        if not self.filled:
            raise RunFailed(f"table `{self.name}` is read before it was initialised")
        return super().export()

    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        listed, rows = self._pairs(keys, values)
        if not listed:
            raise RunFailed(f"table `{self.name}` cannot be initialised with no keys at all")
        with self.lock:
            if self.filled:
                # as in TensorFlow, which goes by the number of keys
                if len(listed) != len(self._rows):
                    raise RunFailed(f"table `{self.name}` was initialised before, with different keys")
                return
            self._replace(listed, rows)
            if len(self._rows) < len(listed):
                flat = rows.tolist()
                for key, value, row in zip(listed, flat, map(self._rows.__getitem__, listed), strict=True):
                    if flat[row] != value:
                        self._replace([], rows[:0])
                        raise RunFailed(f"table `{self.name}` is given two values for the key {key!r:.100}")
            self.filled = True


class MutableTable(LookupTable):
    """Keys come and go."""

    takes_first_default = False

    def insert(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        listed, rows = self._pairs(keys, values)
        with self.lock:
            self._sorted = None
            places = []
            for key in listed:
                place = self._rows.get(key)
                if place is None:
                    place = self._rows[key] = self._free.pop() if self._free else len(self._rows)
                places.append(place)
            if places and (most := max(places) + 1) > len(self._values):
                # twice as much, so that many small insertions stay cheap
                grown = np.empty((max(most, 2 * len(self._values)), *self.value_shape), self._values.dtype)
                grown[: len(self._values)] = self._values
                self._values = grown
            self._values[places] = rows

    def remove(self, keys: NDArray[Any]) -> None:
        self._checked_types(keys)
        self._outer(keys)
        with self.lock:
            self._sorted = None
            for key in self._listed(keys):
                row = self._rows.pop(key, None)
                if row is not None:
                    self._free.append(row)

    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        with self.lock:
            self._pairs(keys, values)
            self._replace([], self._values[:0])
            self.insert(keys, values)


class DenseTable(MutableTable):
    """One with two keys that mean an empty and a deleted place, and that nobody may use."""

    takes_first_default = True
    forbidden: dict[Any, str]

    def find(self, keys: NDArray[Any], default: NDArray[Any]) -> NDArray[Any]:
        self._checked_keys(keys)
        return super().find(keys, default)

    def insert(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        self._checked_keys(keys)
        super().insert(keys, values)

    def remove(self, keys: NDArray[Any]) -> None:
        self._checked_keys(keys)
        super().remove(keys)

    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        """From the places of such a table, a row each, empty ones included: so it is saved."""
        self._checked_types(keys, values)
        sizes = [int(np.prod(shape)) for shape in (self.key_shape, self.value_shape)]
        if [keys.shape, values.shape] != [(*keys.shape[:1], size) for size in sizes]:
            raise RunFailed(f"table `{self.name}` is filled with rows of {sizes[0]} and {sizes[1]} elements")
        keys, values = keys.reshape(-1, *self.key_shape), values.reshape(-1, *self.value_shape)
        used = np.array([key not in self.forbidden for key in self._listed(keys)], bool)
        super().fill(keys[used], values[used])

    def export(self) -> tuple[NDArray[Any], NDArray[Any]]:
        raise RunFailed(f"tfport does not have the places of table `{self.name}`, which are what is exported")

    def _checked_keys(self, keys: NDArray[Any]) -> None:
        self._checked_types(keys)
        self._outer(keys)
        for key in self._listed(keys):
            if key in self.forbidden:
                raise RunFailed(f"the {self.forbidden[key]} of table `{self.name}` is no key")
