"""SVDF of quantized tensors: int8 activations, and an int16 memory of the results of filters."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import quantized_multipliers
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.recurrent_options import SvdfOptions
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Value


@quantized("SVDF")
def svdf(
    b: OperatorBuilder,
    x: LiteValue,
    features: LiteValue,
    times: LiteValue,
    bias: LiteValue | None,
    state: LiteValue,
    *,
    options: SvdfOptions = SvdfOptions,  # type: ignore[assignment]
) -> Value:
    """The kernel for integers asks for RELU and applies none: the range of the output starts at zero."""
    rank, activation = options.rank, options.fused_activation_function
    if activation != "RELU":
        raise b.refuse(f"the activation {activation} is not supported for integers")
    output = b.outputs[0].quantization
    if output is None or not output.scale or (x.type, state.type, times.type) != ("INT8", "INT16", "INT16"):
        raise b.refuse("only int8 with an int16 state is supported")
    filters = times.record.shape[0]
    if rank < 1 or filters % rank:
        raise b.refuse(f"its rank {rank} does not divide its {filters} filters")
    of_state = np.float32(state.scale)
    multiplier, shift = quantized_multipliers(
        [
            float(np.float32(x.scale) * np.float32(features.scale) / of_state),
            float(of_state * np.float32(times.scale) / np.float32(output.scale[0])),
        ]
    )
    added = b.constant(np.zeros(filters // rank, np.int32), INT32) if bias is None else bias
    node = b.LiteIntegerSvdf(
        x, features, times, added, state, rank=rank, multiplier=multiplier, shift=shift, x_zero=x.zero_point,
        y_zero=output.zero_point[0] if output.zero_point else 0,
    )  # fmt: skip
    b.keep(4, node.output(1))
    return node.output(0)
