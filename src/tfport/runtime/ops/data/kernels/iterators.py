"""Ops that consume datasets: iterators, optionals, cardinality, a single element, table initialization."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.shapes import Shape
from tfport.runtime.lower import host, structure
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.functional import function_of
from tfport.runtime.ops.control.structure_steps import InnerProgram
from tfport.runtime.ops.data.dataset import Dataset, Element, check_element, check_shapes, check_types
from tfport.runtime.ops.strings.byte_strings import scalar_value
from tfport.runtime.ops.tables.table import StaticTable
from tfport.runtime.state import State
from tfport.runtime.trace import Tracer

DEVICE = b"/job:localhost/replica:0/task:0/device:CPU:0"


@host("Iterator IteratorV2", once=True)
def iterator(*, shared_name, container, output_types, output_shapes, context):
    name = shared_name or context.name
    new = DatasetIterator(name, output_types, output_shapes)
    existing = context.state.resource(DatasetIterator, name, lambda: new)
    check_types(existing.types, output_types, f"iterator `{name}`")
    check_shapes(existing.shapes, output_shapes, f"iterator `{name}`")
    return existing


@host("AnonymousIterator AnonymousIteratorV3")
def anonymous_iterator(*, output_types, output_shapes, context):
    return DatasetIterator(context.name, output_types, output_shapes)


@host("AnonymousIteratorV2")
def anonymous_iterator_v2(*, output_types, output_shapes, context):
    iterator = DatasetIterator(context.name, output_types, output_shapes)
    return iterator, iterator


@structure("OneShotIterator")
def one_shot_iterator(
    tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]
) -> list[Operand]:
    """An iterator that makes its dataset at the first request for an element."""
    function, overrides = function_of(node, "dataset_factory", attrs)
    bake, tracer.bake = tracer.bake, False
    try:
        program = tracer.program([], lambda: tracer.call(function, [], overrides))
    finally:
        tracer.bake = bake
    factory = InnerProgram(program, tracer.engine, [])
    name = attrs.get("shared_name") or node.name

    def dataset() -> Dataset:
        outputs = factory.run([], [])
        if len(outputs) != 1 or not isinstance(outputs[0], Dataset):
            raise RunFailed(f"iterator `{name}`: its function must return one dataset")
        return outputs[0]

    def new() -> DatasetIterator:
        fresh = DatasetIterator(name, attrs["output_types"], attrs["output_shapes"])
        fresh.make = dataset
        return fresh

    iterator = tracer.state.resource(DatasetIterator, name, new)
    return [Operand(node.output(0).dtype, value=iterator, name=node.name)]


@host("MakeIterator")
def make_iterator(dataset, iterator):
    iterator.begin(dataset)


@host("IteratorGetNext IteratorGetNextSync")
def get_next(iterator, *, output_types, output_shapes):
    element = iterator.next()
    if element is None:
        raise RunFailed(f"end of sequence: iterator `{iterator.name}` has no more elements")
    return check_element(output_types, output_shapes, element)


@host("IteratorGetNextAsOptional")
def get_next_as_optional(iterator, *, output_types, output_shapes):
    element = iterator.next()
    return Optional(None if element is None else check_element(output_types, output_shapes, element))


@host("IteratorToStringHandle")
def to_string_handle(resource_handle, *, context):
    return handles_of(context.state).name(resource_handle)


@host("IteratorFromStringHandle IteratorFromStringHandleV2")
def from_string_handle(string_handle, *, output_types, output_shapes, context):
    iterator = handles_of(context.state).find(scalar_value(string_handle, "string_handle"))
    if output_types:
        check_types(output_types, iterator.types, f"iterator `{iterator.name}`")
    if output_shapes:
        check_shapes(output_shapes, iterator.shapes, f"iterator `{iterator.name}`")
    return iterator


@host("IteratorGetDevice ExperimentalIteratorGetDevice")
def get_device(resource):
    return DEVICE


@host("DeleteIterator")
def delete_iterator(handle, deleter):
    """No effect: Python frees what is no longer referenced."""


class Optional:
    """A tuple of tensors, or None."""

    __slots__ = ("components",)

    def __init__(self, components: list[Any] | None) -> None:
        self.components = components


@host("OptionalFromValue")
def from_value(components):
    return Optional(components)


@host("OptionalNone")
def none():
    return Optional(None)


@host("OptionalHasValue")
def has_value(optional):
    return np.array(optional.components is not None)


@host("OptionalGetValue")
def get_value(optional, *, output_types, output_shapes):
    if optional.components is None:
        raise RunFailed("the optional has no value")
    if len(optional.components) != len(output_types):
        raise RunFailed(
            f"the optional must have {len(output_types)} tensors, found {len(optional.components)}"
        )
    for component, shape in zip(optional.components, output_shapes, strict=True):
        if isinstance(component, np.ndarray) and not shape.fits(Shape(component.shape)):
            raise RunFailed(f"a component must have shape {shape}, found {component.shape}")
    return list(optional.components)


# Whole datasets


@host("DatasetCardinality")
def dataset_cardinality(input_dataset, *, cardinality_options):
    return np.array(input_dataset.cardinality(), np.int64)


@host("ExperimentalDatasetCardinality")
def experimental_dataset_cardinality(input_dataset):
    return np.array(input_dataset.cardinality(), np.int64)


@host("DatasetToSingleElement")
def dataset_to_single_element(dataset, *, output_types, output_shapes, metadata):
    elements = dataset.iterate()
    element = next(elements, None)
    if element is None:
        raise RunFailed("the dataset must have one element, found none")
    if next(elements, None) is not None:
        raise RunFailed("the dataset must have one element, found more")
    return check_element(output_types, output_shapes, element)


@host("InitializeTableFromDataset")
def initialize_table_from_dataset(table_handle, dataset):
    if not isinstance(table_handle, StaticTable):
        raise RunFailed(f"table `{table_handle.name}` is not a table with an initializer")
    check_types([table_handle.key, table_handle.value_type], dataset.types, "the dataset")
    pairs = [(np.reshape(key, -1), np.reshape(value, -1)) for key, value in dataset.iterate()]
    if not pairs:
        raise RunFailed(f"table `{table_handle.name}` cannot be initialized from an empty dataset")
    table_handle.fill(*(np.concatenate(column) for column in zip(*pairs, strict=True)))


# Dataset iterators, thread-safe

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
