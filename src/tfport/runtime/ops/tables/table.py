"""Lookup tables: the resources behind HashTable, MutableHashTable and MutableDenseHashTable.

The values are rows of one array; a dict maps each key to its row. Many integer keys at once are
looked up in a sorted copy of the keys, which is created on first use. All tables are thread-safe.
The ops are in `kernels`.
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
"""Up to this number, keys of any type are looked up one by one."""


def _dtype_text(array: NDArray[Any]) -> str:
    return "string" if array.dtype == object else str(array.dtype)


class LookupTable(ABC):
    """A table from keys to values: the common part of all kinds."""

    takes_first_default = True
    """Whether the first default applies to all keys if there is one per key, as in TensorFlow."""

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
        """The value of each key, or the default for missing keys: one for all keys, or one per key."""
        self._check_dtypes(keys, default)
        if keys.size <= _FEW and not default.ndim and not self.key_shape and not self.value_shape:
            return self._few(keys, default)
        outer = self._outer(keys)
        default = self._default(default, (*outer, *self.value_shape))
        with self.lock:
            rows = self._rows_of(keys, outer)
            missing = rows < 0
            if not len(self._values):
                return np.broadcast_to(default, (*outer, *self.value_shape)).copy()
            values: NDArray[Any] = np.asarray(self._values[rows])  # an array also for a single key
        if missing.any():
            values[missing] = np.broadcast_to(default, values.shape)[missing]
        return values

    def _few(self, keys: NDArray[Any], default: NDArray[Any]) -> NDArray[Any]:
        """The values of a few keys, one by one: NumPy's calls take longer."""
        out = np.empty(keys.size, self.value_type.numpy)
        with self.lock:
            for at, key in enumerate(keys.reshape(-1).tolist()):
                row = self._rows.get(key)
                out[at] = default[()] if row is None else self._values[row]
        return out.reshape(keys.shape)

    def insert(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        raise RunFailed(f"table `{self.name}` is immutable: cannot insert keys")

    def remove(self, keys: NDArray[Any]) -> None:
        raise RunFailed(f"table `{self.name}` is immutable: cannot remove keys")

    @abstractmethod
    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        """Replace the contents of the table."""

    def export(self) -> tuple[NDArray[Any], NDArray[Any]]:
        with self.lock:
            keys = np.empty((len(self._rows), *self.key_shape), self.key.numpy)
            if self._rows:
                keys[:] = list(self._rows)
            return keys, self._values[list(self._rows.values())]

    def _default(self, default: NDArray[Any], full: Shape) -> NDArray[Any]:
        if default.shape not in (self.value_shape, full):
            raise RunFailed(
                f"the default value of table `{self.name}` must have shape {list(self.value_shape)},"
                f" found {list(default.shape)}"
            )
        if self.takes_first_default and default.size and default.shape != self.value_shape:
            default = default.reshape(-1, *self.value_shape)[0, ...]
        return default

    def _check_dtypes(self, keys: NDArray[Any], values: NDArray[Any] | None = None) -> None:
        if keys.dtype != self.key.numpy or (values is not None and values.dtype != self.value_type.numpy):
            raise RunFailed(
                f"table `{self.name}` must be used with {self.key} keys and {self.value_type} values, "
                f"found {' and '.join(_dtype_text(array) for array in (keys, values) if array is not None)}"
            )

    def _outer(self, keys: NDArray[Any]) -> Shape:
        """The shape of an array of keys, without the shape of a single key."""
        rank = keys.ndim - len(self.key_shape)
        if rank < 0 or keys.shape[rank:] != self.key_shape:
            raise RunFailed(
                f"table `{self.name}`: the shape of keys must end in {list(self.key_shape)},"
                f" found {list(keys.shape)}"
            )
        return keys.shape[:rank]

    def key_list(self, keys: NDArray[Any]) -> list[Any]:
        if not self.key_shape:
            flat: list[Any] = keys.reshape(-1).tolist()
            return flat
        return [tuple(row) for row in keys.reshape(-1, int(np.prod(self.key_shape))).tolist()]

    def _rows_of(self, keys: NDArray[Any], outer: Shape) -> NDArray[Any]:
        if keys.dtype.kind in "iu" and not self.key_shape and keys.size > _FEW:
            if self._sorted is None:
                known = np.fromiter(self._rows, keys.dtype, len(self._rows))
                order = np.argsort(known)
                self._sorted = known[order], np.fromiter(self._rows.values(), np.int64, len(known))[order]
            known, rows = self._sorted
            if not len(known):
                return np.full(outer, -1)
            at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            return np.where(known[at] == keys, rows[at], -1)
        listed_keys = self.key_list(keys)
        return np.fromiter(map(self._rows.get, listed_keys, repeat(-1)), np.int64, len(listed_keys)).reshape(
            outer
        )

    def _pairs(self, keys: NDArray[Any], values: NDArray[Any]) -> tuple[list[Any], NDArray[Any]]:
        """The keys as a list and their values as rows; an error if shapes or dtypes do not match."""
        self._check_dtypes(keys, values)
        outer = self._outer(keys)
        if values.shape != (*outer, *self.value_shape):
            raise RunFailed(
                f"table `{self.name}`: values for keys of shape {list(keys.shape)} must have shape"
                f" {[*outer, *self.value_shape]}, found {list(values.shape)}"
            )
        listed_keys = self.key_list(keys)
        return listed_keys, values.reshape(len(listed_keys), *self.value_shape)

    def _replace(self, keys: Sequence[Any], values: NDArray[Any]) -> None:
        self._rows = {key: i for i, key in enumerate(keys)}
        self._values = values.copy()
        self._free, self._sorted = [], None


class StaticTable(LookupTable):
    """An immutable table: initialized once, then only read."""

    filled = False
    _exported: tuple[NDArray[Any], NDArray[Any]] | None = None

    def find(self, keys: NDArray[Any], default: NDArray[Any]) -> NDArray[Any]:
        if not self.filled:
            raise RunFailed(f"table `{self.name}` was read before it was initialized")
        return super().find(keys, default)

    def export(self) -> tuple[NDArray[Any], NDArray[Any]]:
        if not self.filled:
            raise RunFailed(f"table `{self.name}` was read before it was initialized")
        if self._exported is None:
            self._exported = super().export()
        keys, values = self._exported
        return keys.copy(), values.copy()

    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        listed_keys, rows = self._pairs(keys, values)
        if not listed_keys:
            raise RunFailed(f"table `{self.name}` must be initialized with at least one key")
        with self.lock:
            if self.filled:
                # as in TensorFlow, which compares only the number of keys
                if len(listed_keys) != len(self._rows):
                    raise RunFailed(f"table `{self.name}` was already initialized with different keys")
                return
            self._replace(listed_keys, rows)
            if len(self._rows) < len(listed_keys):
                flat = rows.tolist()
                for key, value, row in zip(
                    listed_keys, flat, map(self._rows.__getitem__, listed_keys), strict=True
                ):
                    if flat[row] != value:
                        self._replace([], rows[:0])
                        raise RunFailed(f"table `{self.name}` has two values for key {key!r:.100}")
            self.filled = True


class MutableTable(LookupTable):
    """A table whose keys can be inserted and removed."""

    takes_first_default = False

    def insert(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        listed_keys, rows = self._pairs(keys, values)
        with self.lock:
            self._sorted = None
            positions = []
            for key in listed_keys:
                position = self._rows.get(key)
                if position is None:
                    position = self._rows[key] = self._free.pop() if self._free else len(self._rows)
                positions.append(position)
            if positions and (most := max(positions) + 1) > len(self._values):
                # double the size, so that many small insertions stay cheap
                grown = np.empty((max(most, 2 * len(self._values)), *self.value_shape), self._values.dtype)
                grown[: len(self._values)] = self._values
                self._values = grown
            self._values[positions] = rows

    def remove(self, keys: NDArray[Any]) -> None:
        self._check_dtypes(keys)
        self._outer(keys)
        with self.lock:
            self._sorted = None
            for key in self.key_list(keys):
                row = self._rows.pop(key, None)
                if row is not None:
                    self._free.append(row)

    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        with self.lock:
            self._pairs(keys, values)
            self._replace([], self._values[:0])
            self.insert(keys, values)


class DenseTable(MutableTable):
    """A table with two reserved keys, which mark empty and deleted buckets."""

    takes_first_default = True
    reserved: dict[Any, str]

    def find(self, keys: NDArray[Any], default: NDArray[Any]) -> NDArray[Any]:
        self._check_keys(keys)
        return super().find(keys, default)

    def insert(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        self._check_keys(keys)
        super().insert(keys, values)

    def remove(self, keys: NDArray[Any]) -> None:
        self._check_keys(keys)
        super().remove(keys)

    def fill(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        """Fill from saved buckets, one row each; empty buckets are skipped."""
        self._check_dtypes(keys, values)
        sizes = [int(np.prod(shape)) for shape in (self.key_shape, self.value_shape)]
        if [keys.shape, values.shape] != [(*keys.shape[:1], size) for size in sizes]:
            raise RunFailed(
                f"table `{self.name}`: rows of keys and values must have {sizes[0]} and {sizes[1]} elements,"
                f" found shapes {list(keys.shape)} and {list(values.shape)}"
            )
        keys, values = keys.reshape(-1, *self.key_shape), values.reshape(-1, *self.value_shape)
        used = np.array([key not in self.reserved for key in self.key_list(keys)], bool)
        super().fill(keys[used], values[used])

    def export(self) -> tuple[NDArray[Any], NDArray[Any]]:
        raise RunFailed(
            f"export of dense table `{self.name}` is unsupported: tfport does not keep its buckets"
        )

    def _check_keys(self, keys: NDArray[Any]) -> None:
        self._check_dtypes(keys)
        self._outer(keys)
        for key in self.key_list(keys):
            if key in self.reserved:
                raise RunFailed(
                    f"the {self.reserved[key]} of table `{self.name}` is reserved, but it is among the keys"
                )
