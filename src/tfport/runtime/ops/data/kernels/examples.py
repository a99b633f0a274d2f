"""Datasets of parsed `tf.train.Example` messages: one tensor per key for each batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import STRING
from tfport.runtime.ops.data.dataset import whole
from tfport.runtime.ops.data.declare import dataset
from tfport.runtime.ops.data.mapped import Map
from tfport.runtime.ops.io.kernels.parse_example import as_keys, parse_example_v2
from tfport.runtime.ops.io.kernels.serialized import SerializedPart
from tfport.runtime.ops.ragged.kernels.variants import RaggedVariant


@dataset("ParseExampleDataset ParseExampleDatasetV2 ExperimentalParseExampleDataset")
def parse_example_dataset(
    input_dataset,
    num_parallel_calls,
    dense_defaults,
    *,
    sparse_keys,
    dense_keys,
    sparse_types,
    dense_shapes,
    ragged_keys=(),
    ragged_value_types=(),
    ragged_split_types=(),
):
    if list(input_dataset.types) != [STRING]:
        raise RunFailed(
            "the input must be a dataset of string vectors, "
            f"found elements of {[kind.name for kind in input_dataset.types]}"
        )
    whole(num_parallel_calls, "num_parallel_calls")
    keys = [as_keys(names) for names in (sparse_keys, dense_keys, ragged_keys)]
    arguments = [np.array([], object), *(_array(names) for names in keys), dense_defaults]
    parse = partial(
        parse_example_v2,
        num_sparse=len(sparse_keys),
        sparse_types=sparse_types,
        ragged_value_types=ragged_value_types,
        ragged_split_types=ragged_split_types,
        dense_shapes=dense_shapes,
    )

    def call(element: Sequence[Any]) -> Sequence[Any]:
        if element[0].ndim != 1:
            raise RunFailed(f"serialized Examples must be a vector, found shape {list(element[0].shape)}")
        indices, values, shapes, dense, ragged_values, splits = parse(element[0], *arguments)
        sparse = [_variant(*parts) for parts in zip(indices, values, shapes, strict=True)]
        ragged = [
            RaggedVariant([split.astype(kind.numpy)], value)
            for value, split, kind in zip(ragged_values, splits, ragged_split_types, strict=True)
        ]
        named = zip([*keys[0], *keys[1], *keys[2]], [*sparse, *dense, *ragged], strict=True)
        return [tensor for _, tensor in sorted(named, key=lambda pair: pair[0])]

    return Map(input_dataset, call)


def _array(keys: list[bytes]) -> Any:
    out = np.empty(len(keys), object)
    out[:] = keys
    return out


def _variant(*parts: Any) -> Any:
    out = np.empty(3, object)
    out[:] = [SerializedPart(part) for part in parts]
    return out
