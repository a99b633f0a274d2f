"""Dataset ops that call functions of the graph: map, filter, interleave, scan, group."""

from __future__ import annotations

from tfport.errors import RunFailed
from tfport.runtime.ops.data.batches import Batch
from tfport.runtime.ops.data.dataset import AUTOTUNE, check_element, whole
from tfport.runtime.ops.data.declare import dataset
from tfport.runtime.ops.data.mapped import (
    Filter,
    GroupByReducer,
    GroupByWindow,
    Interleave,
    Map,
    Scan,
    reduced,
)


@dataset("MapDataset ExperimentalMapDataset")
def map_dataset(input_dataset, other_arguments, *, f, preserve_cardinality):
    return Map(input_dataset, f, preserve_cardinality)


@dataset("ParallelMapDataset ParallelMapDatasetV2")
def parallel_map_dataset(input_dataset, other_arguments, num_parallel_calls, *, f, preserve_cardinality):
    _check_parallel_calls(num_parallel_calls)
    return Map(input_dataset, f, preserve_cardinality)


@dataset(
    "MapAndBatchDataset ExperimentalMapAndBatchDataset ExperimentalNumaMapAndBatchDataset "
    "MapAndBatchDatasetV2"
)
def map_and_batch_dataset(
    input_dataset,
    other_arguments,
    batch_size,
    num_parallel_calls,
    drop_remainder,
    *,
    f,
    preserve_cardinality=False,
):
    _check_parallel_calls(num_parallel_calls)
    mapped = Map(input_dataset, f, preserve_cardinality)
    return Batch(mapped, whole(batch_size, "batch_size"), bool(drop_remainder))


@dataset("FilterDataset")
def filter_dataset(input_dataset, other_arguments, *, predicate):
    return Filter(input_dataset, predicate)


@dataset("ParallelFilterDataset")
def parallel_filter_dataset(input_dataset, other_arguments, num_parallel_calls, *, predicate):
    _check_parallel_calls(num_parallel_calls)
    return Filter(input_dataset, predicate)


@dataset("TakeWhileDataset ExperimentalTakeWhileDataset")
def take_while_dataset(input_dataset, other_arguments, *, predicate):
    return Filter(input_dataset, predicate, stops=True)


@dataset("FlatMapDataset")
def flat_map_dataset(input_dataset, other_arguments, *, f):
    return Interleave(input_dataset, f, 1, 1)


@dataset("InterleaveDataset")
def interleave_dataset(input_dataset, other_arguments, cycle_length, block_length, *, f):
    return Interleave(input_dataset, f, *_cycle_and_block(cycle_length, block_length))


@dataset("ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3")
def parallel_interleave_dataset(
    input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls, *, f
):
    _check_parallel_calls(num_parallel_calls)
    return Interleave(input_dataset, f, *_cycle_and_block(cycle_length, block_length))


@dataset("ParallelInterleaveDatasetV4")
def parallel_interleave_dataset_v4(
    input_dataset,
    other_arguments,
    cycle_length,
    block_length,
    buffer_output_elements,
    prefetch_input_elements,
    num_parallel_calls,
    *,
    f,
):
    _check_parallel_calls(num_parallel_calls)
    return Interleave(input_dataset, f, *_cycle_and_block(cycle_length, block_length))


@dataset("ParallelInterleaveDataset ExperimentalParallelInterleaveDataset")
def sloppy_interleave_dataset(
    input_dataset,
    other_arguments,
    cycle_length,
    block_length,
    sloppy,
    buffer_output_elements,
    prefetch_input_elements,
    *,
    f,
):
    return Interleave(input_dataset, f, *_cycle_and_block(cycle_length, block_length))


@dataset("LegacyParallelInterleaveDatasetV2")
def legacy_parallel_interleave_dataset(
    input_dataset,
    other_arguments,
    cycle_length,
    block_length,
    buffer_output_elements,
    prefetch_input_elements,
    *,
    f,
):
    return Interleave(input_dataset, f, *_cycle_and_block(cycle_length, block_length))


def _cycle_and_block(cycle_length, block_length):
    cycle = whole(cycle_length, "cycle_length")
    if cycle == AUTOTUNE:
        raise RunFailed("cycle_length is -1 (autotune), so the order is not defined; set a number")
    return cycle, whole(block_length, "block_length")


def _check_parallel_calls(number):
    calls = whole(number, "num_parallel_calls")
    if calls <= 0 and calls != AUTOTUNE:
        raise RunFailed(f"num_parallel_calls must be positive or -1, found {calls}")


@dataset("ScanDataset ExperimentalScanDataset")
def scan_dataset(input_dataset, initial_state, other_arguments, *, f, preserve_cardinality):
    return Scan(input_dataset, initial_state, f, preserve_cardinality)


@dataset("GroupByReducerDataset ExperimentalGroupByReducerDataset")
def group_by_reducer_dataset(
    input_dataset,
    key_func_other_arguments,
    init_func_other_arguments,
    reduce_func_other_arguments,
    finalize_func_other_arguments,
    *,
    key_func,
    init_func,
    reduce_func,
    finalize_func,
):
    return GroupByReducer(input_dataset, key_func, init_func, reduce_func, finalize_func)


@dataset("GroupByWindowDataset ExperimentalGroupByWindowDataset")
def group_by_window_dataset(
    input_dataset,
    key_func_other_arguments,
    reduce_func_other_arguments,
    window_size_func_other_arguments,
    *,
    key_func,
    reduce_func,
    window_size_func,
):
    return GroupByWindow(input_dataset, key_func, reduce_func, window_size_func)


@dataset("ReduceDataset")
def reduce_dataset(input_dataset, initial_state, other_arguments, *, f, output_types, output_shapes):
    return check_element(output_types, output_shapes, reduced(input_dataset, initial_state, f))
