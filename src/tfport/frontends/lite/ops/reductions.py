"""Reductions over axes."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value

OPS = {"SUM": "Sum", "MEAN": "Mean", "REDUCE_PROD": "Prod", "REDUCE_MAX": "Max", "REDUCE_MIN": "Min",
       "REDUCE_ANY": "Any", "REDUCE_ALL": "All"}  # fmt: skip


@builtin("SUM MEAN REDUCE_PROD REDUCE_ANY REDUCE_ALL")
def reduce(b: OperatorBuilder, x: LiteValue, axes: LiteValue, *, keep_dims: bool = False) -> Node:
    return b.node(OPS[b.operator.code.op], x, reduced_axes(b, x, axes), keep_dims=keep_dims)


@builtin("REDUCE_MAX REDUCE_MIN", any_type=True)
def extreme(b: OperatorBuilder, x: LiteValue, axes: LiteValue, *, keep_dims: bool = False) -> Node:
    return b.node(OPS[b.operator.code.op], x, reduced_axes(b, x, axes), keep_dims=keep_dims)


def reduced_axes(b: OperatorBuilder, x: LiteValue, axes: LiteValue) -> Value:
    """The axes; TensorFlow refuses one that is named twice."""
    if axes.array is None or x.rank == 0:
        return b.value(axes)
    named = axes.array.reshape(-1)
    unique = dict.fromkeys(int(axis) % x.rank if -x.rank <= axis < x.rank else int(axis) for axis in named)
    return b.constant(np.array(list(unique), np.int32), INT32)
