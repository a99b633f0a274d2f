"""Datasets that read files of the model, or parse the `tf.train.Example` messages they contain."""

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
from tfport.runtime.ops.data.record_files import RecordFiles, lines, pieces, records
from tfport.runtime.ops.io.kernels.parse_example import as_keys, parse_example_v2
from tfport.runtime.ops.io.kernels.serialized import SerializedPart
from tfport.runtime.ops.ragged.kernels.variants import RaggedVariant
from tfport.runtime.ops.strings.byte_strings import scalar_value


def _files(filenames, compression_type, cut, context):
    if filenames.ndim > 1:
        raise RunFailed(f"filenames must be a scalar or a vector, found shape {list(filenames.shape)}")
    compression = scalar_value(compression_type, "compression_type")
    return RecordFiles(filenames.reshape(-1).tolist(), compression, context.state.read_file, cut)


@dataset("TextLineDataset")
def text_line_dataset(filenames, compression_type, buffer_size, *, context):
    return _files(filenames, compression_type, lines, context)


@dataset("TFRecordDataset")
def tf_record_dataset(filenames, compression_type, buffer_size, *, context):
    return _files(filenames, compression_type, records(lambda path: 0), context)


@dataset("TFRecordDatasetV2")
def tf_record_dataset_v2(filenames, compression_type, buffer_size, byte_offsets, *, context):
    offsets = byte_offsets.reshape(-1).tolist()
    names = [name.decode(errors="replace") for name in filenames.reshape(-1).tolist()]
    if len(offsets) not in (0, len(names)):
        raise RunFailed(f"{len(offsets)} byte_offsets for {len(names)} filenames")
    starts = dict(zip(names, offsets, strict=False))
    return _files(filenames, compression_type, records(lambda path: starts.get(path, 0)), context)


@dataset("FixedLengthRecordDataset")
def fixed_length_record_dataset(filenames, header_bytes, record_bytes, footer_bytes, buffer_size, *, context):
    sizes = (whole(n, "a number of bytes") for n in (header_bytes, record_bytes, footer_bytes))
    return RecordFiles(filenames.reshape(-1).tolist(), b"", context.state.read_file, pieces(*sizes))


@dataset("FixedLengthRecordDatasetV2")
def fixed_length_record_dataset_v2(
    filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type, *, context
):
    sizes = (whole(n, "a number of bytes") for n in (header_bytes, record_bytes, footer_bytes))
    return _files(filenames, compression_type, pieces(*sizes), context)


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
            f"found elements of {[dtype.name for dtype in input_dataset.types]}"
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
            RaggedVariant([split.astype(dtype.numpy)], value)
            for value, split, dtype in zip(ragged_values, splits, ragged_split_types, strict=True)
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
