"""What a fused op does after its product, lowered to ONNX; `fused_ops` is the same in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.runtime.lower import LOWERINGS, CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.fused_ops import NOTHING, SAME_AS_OP
from tfport.runtime.ops.nn.lowerings.activations import add_bias
from tfport.runtime.ops.nn.lowerings.batch_norm import affine
from tfport.runtime.ops.nn.windows import DataLayout

_GELU = {"GeluExact": False, "GeluApproximate": True}


def lower_fused_ops(
    b: Builder,
    y: Operand,
    layout: DataLayout,
    args: Sequence[Operand],
    fused_ops: Sequence[str],
    epsilon: float,
    alpha: float,
) -> Any:
    """Apply the fused ops to `y`, which has the layout of the op."""
    rest = list(args)
    for op in fused_ops:
        if op == "BiasAdd":
            y = add_bias(b, y, rest.pop(0), layout.format)
        elif op == "Add":
            y = b.Add(y, rest.pop(0))
        elif op == "FusedBatchNorm":
            scale, offset, mean, variance = (rest.pop(0) for _ in range(4))
            y = affine(b, y, layout, scale, offset, mean, variance, epsilon)
        elif op == "Prelu":
            if layout.format != "NHWC":
                raise CannotLower(f"Prelu in {layout.format}")
            y = _lowering(op)(b, y, rest.pop(0))
        elif op == "LeakyRelu":
            y = _lowering(op)(b, y, alpha=float(alpha))
        elif op in SAME_AS_OP:
            y = _lowering(op)(b, y)
        elif op in _GELU:
            y = _lowering("Gelu")(b, y, approximate=_GELU[op])
        elif op != NOTHING:
            raise CannotLower(f"fused op {op} is unsupported")
    return y


def _lowering(op: str) -> Callable[..., Any]:
    return LOWERINGS.of(op)[0].function
