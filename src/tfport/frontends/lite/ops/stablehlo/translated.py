"""StableHLO operators without computations: each is one op of a StableHLO program, and translated as such."""

from __future__ import annotations

import math
from typing import Any

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp, TensorType
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.stablehlo.nodes import HloNodes
from tfport.frontends.stablehlo.program import MOST_FOLDED, ProgramBuilder
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import Value

ELEMENTWISE = (
    "ABS ADD AND CBRT CLAMP COSINE DIVIDE EXPONENTIAL FLOOR LOG LOGISTIC MAXIMUM MINIMUM MULTIPLY NEGATE OR "
    "POWER REMAINDER RSQRT SHIFT_LEFT SUBTRACT TANH"
)
ON_FLAGS = ("ADD", "MAXIMUM", "OR", "MULTIPLY", "MINIMUM", "AND")
DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
WINDOW = {"window_strides": 1, "padding": 0, "lhs_dilation": 1, "rhs_dilation": 1, "window_reversal": 0}
"""What a convolution has for each axis if the file does not say."""


def _names(ops: str) -> str:
    return " ".join(f"STABLEHLO_{op}" for op in ops.split())


@builtin(_names(ELEMENTWISE))
def elementwise(b: OperatorBuilder, *inputs: LiteValue) -> list[Value]:
    name = b.operator.code.op.removeprefix("STABLEHLO_")
    if inputs and inputs[0].dtype == BOOL and name not in ON_FLAGS:
        raise b.refuse("flags are not supported")
    return translated(b, inputs)


@builtin("STABLEHLO_COMPARE")
def compare(
    b: OperatorBuilder,
    x: LiteValue,
    y: LiteValue,
    *,
    comparison_direction: str,
    compare_type: str = "STABLEHLO_COMPARISON_TYPE_NOTYPE",
) -> list[Value]:
    if compare_type.endswith("TOTAL_ORDER"):
        raise b.refuse("total order is not supported")
    direction = str(comparison_direction).rpartition("_")[2]
    if direction not in DIRECTIONS:
        raise b.refuse(f"the comparison {comparison_direction} is unknown")
    return translated(b, [x, y], comparison_direction=DIRECTIONS.index(direction))


@builtin(_names("CONVERT SELECT"), any_type=True)
@builtin(_names("TRANSPOSE"), any_type=True, options="permutation")
@builtin(_names("CONCATENATE"), any_type=True, options="dimension")
@builtin(_names("SLICE"), any_type=True, options="start_indices limit_indices strides")
@builtin(
    _names("GATHER"),
    any_type=True,
    options="offset_dims collapsed_slice_dims start_index_map index_vector_dim slice_sizes "
    "indices_are_sorted",
)
@builtin(
    _names("DOT_GENERAL"),
    options="lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions "
    "rhs_contracting_dimensions precision_config",
)
def of_tensors(b: OperatorBuilder, *inputs: LiteValue, **options: Any) -> list[Value]:
    return translated(b, inputs, **options)


@builtin(_names("DYNAMIC_SLICE"), any_type=True, options="slice_sizes")
@builtin(_names("PAD"), any_type=True, options="edge_padding_low edge_padding_high interior_padding")
def with_scalars(b: OperatorBuilder, x: LiteValue, *scalars: LiteValue, **options: Any) -> list[Value]:
    return translated(b, [x], *scalars, **options)


@builtin(_names("DYNAMIC_UPDATE_SLICE"), any_type=True)
def dynamic_update_slice(
    b: OperatorBuilder, x: LiteValue, update: LiteValue, *starts: LiteValue
) -> list[Value]:
    return translated(b, [x, update], *starts)


@builtin(_names("RESHAPE"), any_type=True)
@builtin(_names("BROADCAST_IN_DIM"), any_type=True, options="broadcast_dimensions")
@builtin(_names("IOTA"), options="iota_dimension")
def of_stated_shape(b: OperatorBuilder, *inputs: LiteValue, **options: Any) -> list[Value]:
    if None in b.outputs[0].dims:
        raise b.refuse("outputs of unknown size are not supported")
    if not 0 <= options.get("iota_dimension", 0) < max(1, len(b.outputs[0].dims)):
        raise b.refuse(f"there is no axis {options['iota_dimension']}")
    return translated(b, inputs, is_stated=True, **options)


@builtin(
    _names("CONVOLUTION"),
    options="window_strides padding lhs_dilation rhs_dilation window_reversal input_batch_dimension "
    "input_feature_dimension input_spatial_dimensions kernel_input_feature_dimension "
    "kernel_output_feature_dimension kernel_spatial_dimensions output_batch_dimension "
    "output_feature_dimension output_spatial_dimensions feature_group_count batch_group_count "
    "precision_config",
)
def convolution(b: OperatorBuilder, x: LiteValue, kernel: LiteValue, **options: Any) -> list[Value]:
    count = len(options["input_spatial_dimensions"] or ())
    for name, usual in WINDOW.items():
        options[name] = options[name] or [usual] * (2 * count if name == "padding" else count)
    groups = {name: options[name] or 1 for name in ("feature_group_count", "batch_group_count")}
    return translated(b, [x, kernel], **{**options, **groups})


def translated(
    b: OperatorBuilder, inputs: Any, *scalars: LiteValue, is_stated: bool = False, **options: Any
) -> list[Value]:
    """The result of the op of StableHLO; sizes of the output are those of the file only if `is_stated`."""
    program = ProgramBuilder(b.graph, b.scope, {}, own_runtime=True)
    op = HloNodes(program, b.graph, b.scope)
    operands = [_tensor(op, x) for x in inputs]
    operands += [_scalar(op, _tensor(op, x)) for x in scalars]
    output = b.outputs[0]
    dims = output.dims if is_stated else (None,) * len(output.shape)
    attrs: Any = {name: [] if value is None else value for name, value in options.items()}
    name = b.operator.code.op.removeprefix("STABLEHLO_").lower()
    hlo = HloOp(name, [], [0], [TensorType(b.dtype(output.type).numpy, dims)], attrs, [])
    try:
        return [tensor.value for tensor in program.results(op, hlo, operands, {})]
    except CannotRun as error:
        raise b.refuse(str(error)) from None


def _tensor(op: HloNodes, x: LiteValue) -> HloTensor:
    is_small = x.load is not None and math.prod(x.record.shape) <= MOST_FOLDED
    return HloTensor(op, x.shape, x.dtype, x.value, array=x.array if is_small else None)


def _scalar(op: HloNodes, x: HloTensor) -> HloTensor:
    if x.rank == 0:
        return x
    array = None if x.array is None else x.array.reshape(())
    return HloTensor(op, (), x.dtype, op.Reshape(x.value, op.const([], INT32)).output(0), array=array)
