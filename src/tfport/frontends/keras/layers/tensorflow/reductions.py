"""Functions over axes: sums, means, extremes."""

from __future__ import annotations

from collections.abc import Callable

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import tf_function
from tfport.frontends.keras.rearranging import cumulative
from tfport.frontends.keras.reductions import Axis, arg_extreme, log_sum_exp, reduced, variance
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import DType

REDUCTIONS = {
    "All": "math.reduce_all reduce_all", "Any": "math.reduce_any reduce_any",
    "Max": "math.reduce_max reduce_max", "Mean": "math.reduce_mean reduce_mean",
    "Min": "math.reduce_min reduce_min", "Prod": "math.reduce_prod reduce_prod",
    "Sum": "math.reduce_sum reduce_sum",
}  # fmt: skip


def _reduction(op: str) -> Callable[..., LayerTensor]:
    def function(b: LayerBuilder, x: LayerTensor, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
        return reduced(b, op, x, axis, keepdims)

    return function


for _op, _names in REDUCTIONS.items():
    tf_function(_names)(_reduction(_op))


@tf_function("math.reduce_std")
def reduce_std(b: LayerBuilder, x: LayerTensor, axis: Axis = None, keepdims: bool = False) -> LayerTensor:
    return b.Sqrt(variance(b, x, axis, keepdims))


@tf_function("math.reduce_variance")
def reduce_variance(
    b: LayerBuilder, x: LayerTensor, axis: Axis = None, keepdims: bool = False
) -> LayerTensor:
    return variance(b, x, axis, keepdims)


@tf_function("math.reduce_logsumexp reduce_logsumexp")
def reduce_logsumexp(
    b: LayerBuilder, x: LayerTensor, axis: Axis = None, keepdims: bool = False
) -> LayerTensor:
    return log_sum_exp(b, x, axis, keepdims)


@tf_function("math.argmax argmax")
def argmax(
    b: LayerBuilder, input: LayerTensor, axis: int | None = None, output_type: str = "int64"
) -> LayerTensor:
    return arg_extreme(b, "ArgMax", input, 0 if axis is None else axis, False, DType.parse(output_type))


@tf_function("math.argmin argmin")
def argmin(
    b: LayerBuilder, input: LayerTensor, axis: int | None = None, output_type: str = "int64"
) -> LayerTensor:
    return arg_extreme(b, "ArgMin", input, 0 if axis is None else axis, False, DType.parse(output_type))


@tf_function("math.cumsum cumsum")
def cumsum(
    b: LayerBuilder, x: LayerTensor, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> LayerTensor:
    return cumulative(b, "Cumsum", x, axis, exclusive=exclusive, reverse=reverse)


@tf_function("math.cumprod")
def cumprod(
    b: LayerBuilder, x: LayerTensor, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> LayerTensor:
    return cumulative(b, "Cumprod", x, axis, exclusive=exclusive, reverse=reverse)


@tf_function("math.top_k nn.top_k")
def top_k(
    b: LayerBuilder, input: LayerTensor, k: int = 1, sorted: bool = True, index_type: str = "int32"
) -> list[LayerTensor]:
    values, positions = b.results(b.node("TopKV2", input, k, sorted=sorted))
    return [values, b.cast(positions, DType.parse(index_type))]
