"""Dataset ops that call no function of the graph: sources, batches, take, repeat, zip, cache."""

from __future__ import annotations

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.data.batches import Batch, PaddedBatch, SparseBatch, Window
from tfport.runtime.ops.data.dataset import Passed, whole
from tfport.runtime.ops.data.declare import dataset
from tfport.runtime.ops.data.sources import Listed, Numbers, SingleElement, SparseRows, TensorRows
from tfport.runtime.ops.data.steps import (
    Cache,
    Chain,
    Chosen,
    Counted,
    IgnoreErrors,
    Memory,
    Repeat,
    Shard,
    Skip,
    Take,
    Unbatch,
    Unique,
    Zip,
)
from tfport.runtime.ops.strings.byte_strings import scalar_value


@dataset("TensorDataset")
def tensor_dataset(components):
    return SingleElement(tuple(components))


@dataset("TensorSliceDataset")
def tensor_slice_dataset(components):
    return TensorRows(components)


@dataset("RangeDataset")
def range_dataset(start, stop, step, *, output_types):
    ends = whole(start, "start"), whole(stop, "stop")
    return Numbers(*ends, whole(step, "step"), output_types[0])


@dataset("SparseTensorSliceDataset")
def sparse_tensor_slice_dataset(indices, values, dense_shape, *, Tvalues):
    return SparseRows(indices, values, dense_shape, Tvalues)


@dataset("ListDataset")
def list_dataset(tensors, *, output_types):
    width = len(output_types)
    if not width or len(tensors) % width:
        raise RunFailed(f"{len(tensors)} tensors cannot form elements of {width}")
    return Listed([tuple(tensors[i : i + width]) for i in range(0, len(tensors), width)])


@dataset("BatchDataset")
def batch_dataset(input_dataset, batch_size):
    return Batch(input_dataset, whole(batch_size, "batch_size"), False)


@dataset("BatchDatasetV2")
def batch_dataset_v2(input_dataset, batch_size, drop_remainder):
    return Batch(input_dataset, whole(batch_size, "batch_size"), bool(drop_remainder))


@dataset("ParallelBatchDataset")
def parallel_batch_dataset(input_dataset, batch_size, num_parallel_calls, drop_remainder):
    return Batch(input_dataset, whole(batch_size, "batch_size"), bool(drop_remainder))


@dataset("PaddedBatchDataset")
def padded_batch_dataset(input_dataset, batch_size, padded_shapes, padding_values):
    size = whole(batch_size, "batch_size")
    return PaddedBatch(input_dataset, size, False, padded_shapes, padding_values)


@dataset("PaddedBatchDatasetV2")
def padded_batch_dataset_v2(input_dataset, batch_size, padded_shapes, padding_values, drop_remainder):
    size = whole(batch_size, "batch_size")
    return PaddedBatch(input_dataset, size, bool(drop_remainder), padded_shapes, padding_values)


@dataset("DenseToSparseBatchDataset ExperimentalDenseToSparseBatchDataset")
def dense_to_sparse_batch_dataset(input_dataset, batch_size, row_shape):
    return SparseBatch(input_dataset, whole(batch_size, "batch_size"), False, row_shape)


@dataset("UnbatchDataset ExperimentalUnbatchDataset")
def unbatch_dataset(input_dataset):
    return Unbatch(input_dataset)


@dataset("WindowDataset")
def window_dataset(input_dataset, size, shift, stride, drop_remainder):
    count, offset, step = (
        whole(n, what) for n, what in ((size, "size"), (shift, "shift"), (stride, "stride"))
    )
    return Window(input_dataset, count, offset, step, bool(drop_remainder))


@dataset("RepeatDataset")
def repeat_dataset(input_dataset, count):
    return Repeat(input_dataset, whole(count, "count"))


@dataset("TakeDataset")
def take_dataset(input_dataset, count):
    return Take(input_dataset, whole(count, "count"))


@dataset("SkipDataset")
def skip_dataset(input_dataset, count):
    return Skip(input_dataset, whole(count, "count"))


@dataset("ConcatenateDataset")
def concatenate_dataset(input_dataset, another_dataset):
    if list(input_dataset.types) != list(another_dataset.types):
        raise RunFailed(
            "both datasets must have elements of the same types, "
            f"found {[kind.name for kind in input_dataset.types]} "
            f"and {[kind.name for kind in another_dataset.types]}"
        )
    return Chain([input_dataset, another_dataset])


@dataset("ZipDataset")
def zip_dataset(input_datasets):
    return Zip(input_datasets)


@dataset("ShardDataset")
def shard_dataset(input_dataset, num_shards, index, *, require_non_empty):
    numbers = whole(num_shards, "num_shards"), whole(index, "index")
    return Shard(input_dataset, *numbers, require_non_empty)


@dataset("UniqueDataset ExperimentalUniqueDataset")
def unique_dataset(input_dataset):
    if len(input_dataset.types) != 1 or input_dataset.types[0].name not in ("int32", "int64", "string"):
        raise RunFailed(
            "each element must be one int32, int64 or string, "
            f"found {[kind.name for kind in input_dataset.types]}"
        )
    return Unique(input_dataset)


@dataset("IgnoreErrorsDataset ExperimentalIgnoreErrorsDataset")
def ignore_errors_dataset(input_dataset):
    return IgnoreErrors(input_dataset)


@dataset("AssertCardinalityDataset")
def assert_cardinality_dataset(input_dataset, cardinality):
    return Counted(input_dataset, whole(cardinality, "cardinality"))


@dataset("DirectedInterleaveDataset ExperimentalDirectedInterleaveDataset")
def directed_interleave_dataset(selector_input_dataset, data_input_datasets, *, stop_on_empty_dataset=False):
    return Chosen(selector_input_dataset, data_input_datasets, stop_on_empty_dataset)


@dataset("CacheDataset")
def cache_dataset(input_dataset, filename):
    _in_memory(filename)
    return Cache(input_dataset)


@dataset("CacheDatasetV2")
def cache_dataset_v2(input_dataset, filename, cache):
    _in_memory(filename)
    return Cache(input_dataset, cache)


def _in_memory(filename):
    if scalar_value(filename, "filename"):
        raise RunFailed("models may not write files: cache the dataset in memory (an empty filename)")


@host("AnonymousMemoryCache")
def anonymous_memory_cache():
    memory = Memory()
    return memory, memory


@host("DummyMemoryCache")
def dummy_memory_cache():
    return Memory()


@host("DeleteMemoryCache")
def delete_memory_cache(handle, deleter):
    """No effect: Python frees what is no longer referenced."""


@dataset("PrefetchDataset")
def prefetch_dataset(input_dataset, buffer_size):
    if whole(buffer_size, "buffer_size") < -1:
        raise RunFailed(f"buffer_size must be at least -1, found {int(buffer_size)}")
    return Passed(input_dataset)


@dataset(
    "OptionsDataset ModelDataset FinalizeDataset NonSerializableDataset ExperimentalNonSerializableDataset"
)
def options_dataset(input_dataset):
    return Passed(input_dataset)


@dataset("OptimizeDataset")
def optimize_dataset(input_dataset, optimizations):
    return Passed(input_dataset)


@dataset("OptimizeDatasetV2")
def optimize_dataset_v2(input_dataset, optimizations_enabled, optimizations_disabled, optimizations_default):
    return Passed(input_dataset)


@dataset(
    "MaxIntraOpParallelismDataset ExperimentalMaxIntraOpParallelismDataset PrivateThreadPoolDataset "
    "ExperimentalPrivateThreadPoolDataset SleepDataset ExperimentalSleepDataset LatencyStatsDataset "
    "ExperimentalLatencyStatsDataset BytesProducedStatsDataset ExperimentalBytesProducedStatsDataset"
)
def tuned_dataset(input_dataset, setting):
    """Affects speed or statistics only, not the elements."""
    return Passed(input_dataset)


@host("WrapDatasetVariant UnwrapDatasetVariant")
def pass_on(input_handle):
    return input_handle
