"""Custom calls that do not need a device library, and random bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.nodes import HloNodes, translates, translates_call
from tfport.frontends.stablehlo.tensor import HloTensor, element_type, stated
from tfport.graph.dtypes import INT32, STRING


@translates_call(
    "Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement LayoutConstraint"
)
def unchanged(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> list[HloTensor]:
    return list(operands[: len(hlo.results)])


@translates_call(
    "mhlo.acos mhlo.acosh mhlo.asin mhlo.asinh mhlo.atan mhlo.atanh mhlo.cosh mhlo.erf mhlo.erf_inv "
    "mhlo.sinh mhlo.tan"
)
def function(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    name = str(hlo.attrs["call_target_name"]).removeprefix("mhlo.")
    return op.each(name.replace("_", "").capitalize(), x)


@translates_call("shape_assertion")
def shape_assertion(op: HloNodes, hlo: HloOp, holds: HloTensor, *sizes: HloTensor) -> list[HloTensor]:
    """The program states what it expects of the sizes of its inputs."""
    message = str(hlo.attrs.get("error_message", "a shape of the inputs is not supported"))
    if holds.array is not None:
        if not bool(holds.array):
            raise CannotRun(f"its sizes contradict its program: {message}")
        return []
    op.Assert(holds.value, [op.const(message, STRING), *(size.value for size in sizes)])
    return []


@translates_call("tf.call_tf_function")
def call_tf_function(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> list[HloTensor]:
    """A function of the model that the program calls."""
    config: Any = hlo.attrs["tf.backend_config"]
    index = int(config.get("called_index", -1))
    if config.get("has_token_input_output") or not 0 <= index < len(op.program.called):
        raise CannotRun("it calls a TensorFlow function with tokens, or one that the node does not list")
    node = op.StatefulPartitionedCall(
        [x.value for x in operands],
        Tin=[x.dtype for x in operands],
        Tout=[element_type(tensor_type.element) for tensor_type in hlo.types],
        f=op.program.called[index],
    )
    return [op.tensor(node.output(at), tensor_type.shape) for at, tensor_type in enumerate(hlo.types)]


MOST_DRAWN = 1 << 20
RNG = (0, 2, 1)
"""XLA's numbers of the generators: any, ThreeFry and Philox."""


@translates("rng_bit_generator")
def rng_bit_generator(op: HloNodes, hlo: HloOp, state: HloTensor) -> list[HloTensor]:
    """The bits of a constant state are constant too; XLA's op, which has other numbers, draws the others."""
    shape, algorithm = hlo.types[1].shape, RNG[hlo.attrs["rng_algorithm"]]
    if op.program.own_runtime and None not in shape:
        dtype = element_type(hlo.types[1].element)
        drawn = op.XlaRngBitGenerator(algorithm, state.value, op.const(stated(shape), INT32), dtype=dtype)
        return [op.tensor(drawn.output(0), state.dims), op.tensor(drawn.output(1), shape)]
    if state.array is None or None in shape or math.prod(stated(shape)) > MOST_DRAWN:
        raise CannotRun("stablehlo.rng_bit_generator of a computed state has no translation")
    assert op.program.draw is not None
    bits = op.program.draw(algorithm, state.array, tuple(stated(shape)), hlo.types[1].element)
    return [op.known(np.asarray(array)) for array in bits]
