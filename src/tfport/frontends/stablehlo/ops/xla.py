"""Ops that only XLA's own ops express, for a runtime that computes those outside of compiled code.

tfport does; TensorFlow does not, so `fix` refuses these programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.encoding.wire import to_varint
from tfport.formats.stablehlo.vhlo import HloBody, HloOp, TensorType
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import Env, HloNodes, translates, translates_call
from tfport.frontends.stablehlo.ops.control import Captures
from tfport.frontends.stablehlo.tensor import HloTensor, element_type
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import INT64
from tfport.graph.graph import Value


@translates("select_and_scatter", in_xla_ops=True)
def select_and_scatter(
    op: HloNodes, hlo: HloOp, x: HloTensor, source: HloTensor, start: HloTensor, *, env: Env
) -> HloTensor:
    select, scatter = (region(op, body, [x, x], env) for body in hlo.regions)
    node = op.XlaSelectAndScatter(
        x.value,
        *(numbers(op, hlo.attrs[name]) for name in ("window_dimensions", "window_strides")),
        numbers(op, np.reshape(integers(hlo.attrs["padding"]), (-1, 2))),
        source.value,
        start.value,
        select=select,
        scatter=scatter,
    )
    return op.tensor(node, hlo.types[0].shape)


@translates_call("stablehlo.dynamic_reduce_window", in_xla_ops=True)
def dynamic_reduce_window(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> HloTensor:
    """Windows of computed sizes."""
    if len(operands) != 7:
        raise CannotRun("stablehlo.dynamic_reduce_window of several tensors has no translation")
    x, start, *window = operands
    body = op.program.functions[str(hlo.attrs["called_computations"][0]).lstrip("@")]
    node = op.XlaReduceWindow(
        x.value, start.value, *(z.value for z in window), computation=region(op, body, [x, x], {})
    )
    return op.tensor(node, hlo.types[0].shape)


CONVOLUTION = {
    3: "kernel_input_feature_dimension", 4: "kernel_output_feature_dimension", 6: "kernel_spatial_dimensions",
    7: "input_batch_dimension", 8: "input_feature_dimension", 9: "output_batch_dimension",
    10: "output_feature_dimension", 11: "input_spatial_dimensions", 12: "output_spatial_dimensions",
}  # fmt: skip
"""The fields of the dimension numbers of a convolution."""


def convolved(op: HloNodes, hlo: HloOp, x: HloTensor, kernel: HloTensor) -> HloTensor:
    """A convolution with groups of batches, or over more axes than TensorFlow's ops have."""
    attrs = hlo.attrs
    if any(integers(attrs["window_reversal"])):
        raise CannotRun("stablehlo.convolution with this window and reversed filters has no translation")
    node = op.XlaConvV2(
        x.value,
        kernel.value,
        numbers(op, attrs["window_strides"]),
        numbers(op, np.reshape(integers(attrs["padding"]), (-1, 2))),
        *(numbers(op, attrs[name]) for name in ("lhs_dilation", "rhs_dilation")),
        op.const(int(attrs["feature_group_count"]), INT64),
        dimension_numbers=dimension_numbers({field: attrs[name] for field, name in CONVOLUTION.items()}),
        precision_config="",
        preferred_element_type=element_type(hlo.types[0].element),
        batch_group_count=int(attrs["batch_group_count"]),
    )
    return op.tensor(node, hlo.types[0].shape)


def scattered(op: HloNodes, hlo: HloOp, operands: Sequence[HloTensor], env: Env) -> HloTensor:
    """Updates by any computation."""
    x, indices, updates = operands
    attrs = hlo.attrs
    names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    if integers(attrs.get("input_batching_dims", [])):
        raise CannotRun("stablehlo.scatter with this region and batches has no translation")
    fields = dict(enumerate((attrs[name] for name in (*names, "index_vector_dim")), 1))
    node = op.XlaScatter(
        x.value,
        indices.value,
        updates.value,
        update_computation=region(op, hlo.regions[0], [x, x], env),
        dimension_numbers=dimension_numbers(fields),
        indices_are_sorted=False,
    )
    return op.tensor(node, x.dims)


def sorted_by(op: HloNodes, hlo: HloOp, operands: Sequence[HloTensor], env: Env) -> list[HloTensor]:
    """Sorted by any comparator."""
    pairs = [side for x in operands for side in (x, x)]
    node = op.XlaVariadicSort(
        [x.value for x in operands],
        op.const(int(hlo.attrs["dimension"]) % max(operands[0].rank, 1), INT64),
        comparator=region(op, hlo.regions[0], pairs, env),
        is_stable=True,
    )
    return [op.tensor(node.output(index), x.dims) for index, x in enumerate(operands)]


def reduced(op: HloNodes, hlo: HloOp, operands: Sequence[HloTensor], env: Env) -> list[HloTensor]:
    """Reduced by any computation; half of the operands are the values to begin with."""
    half = len(operands) // 2
    node = op.XlaVariadicReduceV2(
        [x.value for x in operands[:half]],
        [x.value for x in operands[half:]],
        dimensions_to_reduce=integers(hlo.attrs["dimensions"]),
        reducer=region(op, hlo.regions[0], operands, env),
    )
    return [op.tensor(node.output(index), tensor_type.shape) for index, tensor_type in enumerate(hlo.types)]


def region(op: HloNodes, body: HloBody, args: Sequence[HloTensor], env: Env) -> FunctionRef:
    """A region as a function of scalars of the types of these tensors."""
    captures = Captures(op, [body], env)
    if captures.values:
        raise CannotRun("a region reads a computed value from outside, which has no translation")
    types = [TensorType(x.dtype.numpy, ()) for x in args]
    function = op.program.function(
        "region",
        types,
        lambda inner, passed: inner.program.body(inner, body, passed, captures.bound(inner, ())),
    )
    return FunctionRef(function.name)


def numbers(op: HloNodes, value: Any) -> Value:
    return op.const(np.asarray(value, np.int64), INT64)


def dimension_numbers(fields: Mapping[int, Any]) -> bytes:
    """Dimension numbers as a protocol buffer of integers, by the number of the field."""
    pairs = ((field, int(n)) for field, value in fields.items() for n in np.reshape(value, -1))
    return b"".join(to_varint(field << 3) + to_varint(n) for field, n in pairs)
