"""StableHLO operators that call a subgraph, and random bits: as the ops of XLA that TensorFlow has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.ops.control import call_subgraph
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.stablehlo.ops.xla import dimension_numbers
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import INT32, INT64, DType
from tfport.graph.graph import Node, Value

Axes = tuple[int, ...] | None
REDUCERS = {"ADD": "AddV2", "MUL": "Mul", "MINIMUM": "Minimum", "MAXIMUM": "Maximum", "ALL": "LogicalAnd",
            "ANY": "LogicalOr"}  # fmt: skip
UNSIGNED = {INT32: DType.parse("uint32"), INT64: DType.parse("uint64")}
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
    axes = (update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims)
    fields = dict(enumerate((*(numbers or () for numbers in axes), index_vector_dim), 1))
    return b.XlaScatter(
        x,
        indices,
        updates,
        dimension_numbers=dimension_numbers(fields),
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
    return [node.output(index) for index in range(half)]


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
    sizes = b.const([1] * x.rank, INT64)
    return b.XlaReduceWindow(
        x,
        _scalar(b, start),
        window,
        strides,
        sizes,
        dilations,
        b.const([[0, 0]] * x.rank, INT64),
        computation=FunctionRef(b.subgraph.file.function_of_op(op, x.dtype)),
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
    return [node.output(index) for index in range(len(inputs))]


@builtin("STABLEHLO_RNG_BIT_GENERATOR", any_type=True)
def rng_bit_generator(b: OperatorBuilder, state: LiteValue, *, algorithm: str = "DEFAULT") -> list[Value]:
    """Drawn as a vector, since XLA draws the rows of a matrix one by one; TensorFlow draws no signed bits."""
    shape, dtype = b.outputs[1].shape, b.dtype(b.outputs[1].type)
    drawn = UNSIGNED.get(dtype, dtype)
    node = b.XlaRngBitGenerator(RNG.get(algorithm, 0), state, _integers([math.prod(shape)]), dtype=drawn)
    bits = node.output(1) if drawn == dtype else b.Bitcast(node.output(1), type=dtype)
    return [node.output(0), b.Reshape(bits, _integers(shape)).output(0)]


def _integers(numbers: Sequence[int] | None) -> Any:
    return np.array(list(numbers or ()), np.int64)


def _scalar(b: OperatorBuilder, x: LiteValue) -> Value:
    return b.value(x) if x.rank == 0 else b.Reshape(x, b.const([], INT32)).output(0)
