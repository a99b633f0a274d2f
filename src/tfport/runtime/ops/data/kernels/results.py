"""Ops that consume a dataset: cardinality, single element, table initialization."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.data.dataset import check_element, check_types
from tfport.runtime.ops.tables.table import StaticTable


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
