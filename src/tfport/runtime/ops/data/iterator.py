"""Iterators: where a session is within a dataset, safely under threads."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.runtime.ops.data.dataset import Dataset, Element, check_shapes, check_types
from tfport.runtime.state import State

PREFIX = "tfport-iterator-"


class DatasetIterator:
    """One place in one dataset at a time."""

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[Shape]) -> None:
        self.name, self.types, self.shapes = name, types, shapes
        self.lock = threading.RLock()
        self.make: Callable[[], Dataset] | None = None
        """What makes the dataset of one that begins by itself, when it is first asked."""
        self._elements: Iterator[Element] | None = None

    def begin(self, dataset: Dataset) -> None:
        """Stand before the first element of a dataset."""
        if self.types:
            check_types(self.types, dataset.types, "the dataset")
            check_shapes(self.shapes, dataset.shapes, "the dataset")
        with self.lock:
            self._elements = dataset.iterate()

    def next(self) -> Element | None:
        """The next element; None behind the last."""
        with self.lock:
            if self._elements is None and self.make is not None:
                self.begin(self.make())
            if self._elements is None:
                raise RunFailed(
                    f"iterator `{self.name}` is asked for an element before it was initialised with a dataset"
                )
            return next(self._elements, None)


class Handles:
    """The iterators of a session that were asked for a string to name them by."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._named: weakref.WeakValueDictionary[bytes, DatasetIterator] = weakref.WeakValueDictionary()

    def name(self, iterator: DatasetIterator) -> bytes:
        handle = f"{PREFIX}{id(iterator):x}".encode()
        with self._lock:
            self._named[handle] = iterator
        return handle

    def find(self, handle: bytes) -> DatasetIterator:
        with self._lock:
            found = self._named.get(handle)
        if found is None:
            raise RunFailed("there is no iterator with this string handle in the session")
        return found


def handles_of(state: State) -> Handles:
    return state.resource(Handles, "", Handles)
