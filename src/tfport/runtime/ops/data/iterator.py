"""Dataset iterators, thread-safe."""

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
    """A position in a dataset."""

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[Shape]) -> None:
        self.name, self.types, self.shapes = name, types, shapes
        self.lock = threading.RLock()
        self.make: Callable[[], Dataset] | None = None
        """Makes the dataset of a one-shot iterator at the first request."""
        self._elements: Iterator[Element] | None = None

    def begin(self, dataset: Dataset) -> None:
        """Start at the first element of a dataset."""
        if self.types:
            check_types(self.types, dataset.types, "the dataset")
            check_shapes(self.shapes, dataset.shapes, "the dataset")
        with self.lock:
            self._elements = dataset.iterate()

    def next(self) -> Element | None:
        """The next element; None at the end."""
        with self.lock:
            if self._elements is None and self.make is not None:
                self.begin(self.make())
            if self._elements is None:
                raise RunFailed(
                    f"iterator `{self.name}` has no dataset yet: run its initializer (MakeIterator) first"
                )
            return next(self._elements, None)


class Handles:
    """The iterators of a session by string handle."""

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
            iterator = self._named.get(handle)
        if iterator is None:
            raise RunFailed("no iterator of this session has this string handle")
        return iterator


def handles_of(state: State) -> Handles:
    return state.resource(Handles, "", Handles)
