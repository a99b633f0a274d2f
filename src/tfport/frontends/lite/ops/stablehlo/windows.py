"""StableHLO operators of windows, indices and products: as the ops of XLA that TensorFlow has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.formats.encoding.wire import to_varint
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.ops.control import call_subgraph
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Node, Value

Axes = tuple[int, ...] | None
REDUCERS = {"ADD": "AddV2", "MUL": "Mul", "MINIMUM": "Minimum", "MAXIMUM": "Maximum", "ALL": "LogicalAnd",
            "ANY": "LogicalOr"}  # fmt: skip
RNG = {"DEFAULT": 1, "PHILOX": 1, "THREEFRY": 2}
"""The numbers of XLA's generators."""


@builtin("STABLEHLO_COMPOSITE", any_type=True)
def composite(
    b: OperatorBuilder,
    *inputs: LiteValue,
    name: str = "",
    decomposition_subgraph_index: int = 0,
    composite_attributes: Any = None,
    composite_attributes_format: str = "",
    version: int = 0,
) -> list[Value]:
    """What it means is also a subgraph."""
    return call_subgraph(b, decomposition_subgraph_index, list(inputs))


@builtin("STABLEHLO_SLICE", any_type=True)
def slice_(
    b: OperatorBuilder, x: LiteValue, *, start_indices: Axes, limit_indices: Axes, strides: Axes
) -> Node:
    return b.StridedSlice(x, *(_integers(numbers) for numbers in (start_indices, limit_indices, strides)))


@builtin("STABLEHLO_DYNAMIC_SLICE", any_type=True)
def dynamic_slice(b: OperatorBuilder, x: LiteValue, *starts: LiteValue, slice_sizes: Axes) -> Node:
    first = b.Pack([b.cast(b.Reshape(start, b.constant([], INT32)), INT64) for start in starts])
    return b.XlaDynamicSlice(x, first, _integers(slice_sizes))


@builtin("STABLEHLO_DYNAMIC_UPDATE_SLICE", any_type=True)
def dynamic_update_slice(b: OperatorBuilder, x: LiteValue, update: LiteValue, *starts: LiteValue) -> Node:
    first = b.Pack([b.cast(b.Reshape(start, b.constant([], INT32)), INT64) for start in starts])
    return b.XlaDynamicUpdateSlice(x, update, first)


@builtin("STABLEHLO_PAD", any_type=True)
def pad(
    b: OperatorBuilder,
    x: LiteValue,
    value: LiteValue,
    *,
    edge_padding_low: Axes,
    edge_padding_high: Axes,
    interior_padding: Axes,
) -> Node:
    sizes = (_integers(numbers) for numbers in (edge_padding_low, edge_padding_high, interior_padding))
    return b.XlaPad(x, _scalar(b, value), *sizes)


@builtin("STABLEHLO_GATHER", any_type=True)
def gather(
    b: OperatorBuilder,
    x: LiteValue,
    indices: LiteValue,
    *,
    offset_dims: Axes = None,
    collapsed_slice_dims: Axes = None,
    start_index_map: Axes = None,
    index_vector_dim: int = 0,
    slice_sizes: Axes,
    indices_are_sorted: bool = False,
) -> Node:
    numbers = _message({1: offset_dims, 2: collapsed_slice_dims, 3: start_index_map, 4: index_vector_dim})
    return b.XlaGather(
        x,
        indices,
        b.constant(_integers(slice_sizes), indices.dtype),
        dimension_numbers=numbers,
        indices_are_sorted=indices_are_sorted,
    )


@builtin("STABLEHLO_SCATTER", any_type=True)
def scatter(
    b: OperatorBuilder,
    x: LiteValue,
    indices: LiteValue,
    updates: LiteValue,
    *,
    indices_are_sorted: bool = False,
    update_window_dims: Axes = None,
    inserted_window_dims: Axes = None,
    scatter_dims_to_operand_dims: Axes = None,
    index_vector_dim: int = 0,
    unique_indices: bool = False,
    update_computation_subgraph_index: int,
) -> Node:
    fields = {
        1: update_window_dims,
        2: inserted_window_dims,
        3: scatter_dims_to_operand_dims,
        4: index_vector_dim,
    }
    return b.XlaScatter(
        x,
        indices,
        updates,
        dimension_numbers=_message(fields),
        indices_are_sorted=indices_are_sorted,
        update_computation=FunctionRef(b.function(update_computation_subgraph_index)),
    )


@builtin("STABLEHLO_REDUCE", any_type=True)
def reduce(
    b: OperatorBuilder, *inputs: LiteValue, dimensions: Axes = None, body_subgraph_index: int
) -> list[Value]:
    """Half of the inputs are the values to begin with."""
    half = len(inputs) // 2
    node = b.XlaVariadicReduceV2(
        list(inputs[:half]),
        [_scalar(b, value) for value in inputs[half:]],
        dimensions_to_reduce=list(dimensions or ()),
        reducer=FunctionRef(b.function(body_subgraph_index)),
    )
    return [node.output(place) for place in range(half)]


@builtin("STABLEHLO_REDUCE_WINDOW", any_type=True)
def reduce_window(
    b: OperatorBuilder,
    x: LiteValue,
    start: LiteValue,
    *,
    window_dimensions: Axes,
    window_strides: Axes = None,
    base_dilations: Axes = None,
    window_dilations: Axes = None,
    padding: Axes = None,
    body_subgraph_index: int,
) -> Node:
    steps = [1] * x.rank
    pads = _integers(padding or [0] * 2 * x.rank).reshape(-1, 2)
    return b.XlaReduceWindow(
        x,
        _scalar(b, start),
        *(
            _integers(numbers or steps)
            for numbers in (window_dimensions, window_strides, base_dilations, window_dilations)
        ),
        pads,
        computation=FunctionRef(b.function(body_subgraph_index)),
    )


@builtin("REDUCE_WINDOW", any_type=True)
def reduce_window_by_name(
    b: OperatorBuilder,
    x: LiteValue,
    start: LiteValue,
    window: LiteValue,
    strides: LiteValue,
    dilations: LiteValue,
    *,
    reduce_function: str = "UNSUPPORTED",
) -> Node:
    op = REDUCERS.get(reduce_function)
    if op is None:
        raise b.refuse(f"the function {reduce_function} is not supported")
    sizes = b.constant([1] * x.rank, INT64)
    return b.XlaReduceWindow(
        x,
        _scalar(b, start),
        window,
        strides,
        sizes,
        dilations,
        b.constant([[0, 0]] * x.rank, INT64),
        computation=FunctionRef(b.graph.file.function_of_op(op, x.dtype)),
    )


@builtin("STABLEHLO_SORT", any_type=True)
def sort(
    b: OperatorBuilder,
    *inputs: LiteValue,
    dimension: int = 0,
    is_stable: bool = False,
    comparator_subgraph_index: int,
) -> list[Value]:
    comparator = FunctionRef(b.function(comparator_subgraph_index))
    node = b.XlaVariadicSort(list(inputs), int(dimension), comparator=comparator, is_stable=is_stable)
    return [node.output(place) for place in range(len(inputs))]


@builtin("STABLEHLO_DOT_GENERAL")
def dot_general(
    b: OperatorBuilder,
    x: LiteValue,
    y: LiteValue,
    *,
    lhs_batching_dimensions: Axes = None,
    rhs_batching_dimensions: Axes = None,
    lhs_contracting_dimensions: Axes = None,
    rhs_contracting_dimensions: Axes = None,
    precision_config: Any = None,
) -> Node:
    contracting = lhs_contracting_dimensions, rhs_contracting_dimensions
    lists = (*contracting, lhs_batching_dimensions, rhs_batching_dimensions)
    return b.XlaDotV2(
        x,
        y,
        dimension_numbers=_message(dict(enumerate(lists, 1))),
        precision_config="",
        preferred_element_type=b.dtype(b.outputs[0].type),
    )


@builtin("STABLEHLO_CONVOLUTION")
def convolution(
    b: OperatorBuilder,
    x: LiteValue,
    kernel: LiteValue,
    *,
    window_strides: Axes = None,
    padding: Axes = None,
    lhs_dilation: Axes = None,
    rhs_dilation: Axes = None,
    window_reversal: tuple[bool, ...] | None = None,
    input_batch_dimension: int = 0,
    input_feature_dimension: int = 0,
    input_spatial_dimensions: Axes = None,
    kernel_input_feature_dimension: int = 0,
    kernel_output_feature_dimension: int = 0,
    kernel_spatial_dimensions: Axes = None,
    output_batch_dimension: int = 0,
    output_feature_dimension: int = 0,
    output_spatial_dimensions: Axes = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision_config: Any = None,
) -> Node:
    if any(window_reversal or ()):
        raise b.refuse("reversed windows are not supported")
    count = len(input_spatial_dimensions or ())
    fields = {
        7: input_batch_dimension, 8: input_feature_dimension, 11: input_spatial_dimensions,
        3: kernel_input_feature_dimension, 4: kernel_output_feature_dimension, 6: kernel_spatial_dimensions,
        9: output_batch_dimension, 10: output_feature_dimension, 12: output_spatial_dimensions,
    }  # fmt: skip
    return b.XlaConvV2(
        x,
        kernel,
        _integers(window_strides or [1] * count),
        _integers(padding or [0] * 2 * count).reshape(-1, 2),
        _integers(lhs_dilation or [1] * count),
        _integers(rhs_dilation or [1] * count),
        b.constant(feature_group_count, INT64),
        dimension_numbers=_message(fields),
        precision_config="",
        preferred_element_type=b.dtype(b.outputs[0].type),
        batch_group_count=batch_group_count,
    )


@builtin("STABLEHLO_RNG_BIT_GENERATOR", any_type=True)
def rng_bit_generator(b: OperatorBuilder, state: LiteValue, *, algorithm: str = "DEFAULT") -> list[Value]:
    """Drawn as a vector, since XLA draws the rows of a matrix one by one."""
    shape, kind = b.outputs[1].shape, b.dtype(b.outputs[1].type)
    node = b.XlaRngBitGenerator(RNG.get(algorithm, 0), state, _integers([math.prod(shape)]), dtype=kind)
    return [node.output(0), b.Reshape(node.output(1), _integers(shape)).output(0)]


def _integers(numbers: Sequence[int] | None) -> Any:
    return np.array(list(numbers or ()), np.int64)


def _scalar(b: OperatorBuilder, x: LiteValue) -> Value:
    return b.value(x) if x.rank == 0 else b.Reshape(x, b.constant([], INT32)).output(0)


def _message(fields: Mapping[int, Axes | int]) -> bytes:
    """Dimension numbers as a protocol buffer of integers."""
    out = b""
    for number, value in fields.items():
        for each in (value,) if isinstance(value, int) else value or ():
            out += to_varint(number << 3) + to_varint(each)
    return out
