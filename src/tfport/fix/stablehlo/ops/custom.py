"""Custom calls that do not need a device library."""

from __future__ import annotations

from typing import Any

from tfport.fix.rule import refuse
from tfport.fix.stablehlo.declare import translates_call
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor, element_type
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.graph.dtypes import STRING

FUNCTIONS = {
    "mhlo.acos": "Acos", "mhlo.acosh": "Acosh", "mhlo.asin": "Asin", "mhlo.asinh": "Asinh",
    "mhlo.atan": "Atan", "mhlo.atanh": "Atanh", "mhlo.cosh": "Cosh", "mhlo.erf": "Erf",
    "mhlo.erf_inv": "Erfinv", "mhlo.sinh": "Sinh", "mhlo.tan": "Tan",
}  # fmt: skip


@translates_call(
    "Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement LayoutConstraint"
)
def unchanged(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> list[HloTensor]:
    return list(operands[: len(hlo.results)])


@translates_call(" ".join(FUNCTIONS))
def function(op: HloNodes, hlo: HloOp, x: HloTensor) -> HloTensor:
    return op.each(FUNCTIONS[str(hlo.attrs["call_target_name"])], x)


@translates_call("shape_assertion")
def shape_assertion(op: HloNodes, hlo: HloOp, holds: HloTensor, *sizes: HloTensor) -> list[HloTensor]:
    """The program states what it expects of the sizes of its inputs."""
    message = str(hlo.attrs.get("error_message", "a shape of the inputs is not supported"))
    if holds.array is not None:
        if not bool(holds.array):
            raise refuse(f"its sizes contradict its program: {message}")
        return []
    op.Assert(holds.value, [op.const(message, STRING), *(size.value for size in sizes)])
    return []


@translates_call("tf.call_tf_function")
def call_tf_function(op: HloNodes, hlo: HloOp, *operands: HloTensor) -> list[HloTensor]:
    """A function of the model that the program calls."""
    config: Any = hlo.attrs["tf.backend_config"]
    place = int(config.get("called_index", -1))
    if config.get("has_token_input_output") or not 0 <= place < len(op.program.called):
        raise refuse("it calls a TensorFlow function with tokens, or one that the node does not list")
    made = op.StatefulPartitionedCall(
        [x.value for x in operands],
        Tin=[x.dtype for x in operands],
        Tout=[element_type(kind.element) for kind in hlo.types],
        f=op.program.called[place],
    )
    return [op.tensor(made.output(at), kind.shape) for at, kind in enumerate(hlo.types)]
