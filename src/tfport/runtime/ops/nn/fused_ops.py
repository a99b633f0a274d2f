"""What a fused op does after its product: biases, normalization and activations, in NumPy.

TensorFlow's optimizer and TensorFlow.js fuse them into convolutions and matrix products
and list their names in `fused_ops`. `onnx_fused_ops` lowers the same list to ONNX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import KERNELS
from tfport.runtime.ops.shared.precision import widen

NOTHING = "NoOp"
"""What TensorFlow.js writes in place of a bias."""
SAME_AS_OP = ("Relu", "Relu6", "Elu", "Tanh", "Sigmoid")
"""The activations that are ops of their own, without attributes."""


def apply_fused_ops(
    y: Any, args: Sequence[Any], fused_ops: Sequence[str], epsilon: float, alpha: float
) -> Any:
    """Apply the fused ops to `y`, which has channels last."""
    rest = [widen(np.asarray(arg)) for arg in args]
    for op in fused_ops:
        if op in ("BiasAdd", "Add"):
            y = y + rest.pop(0)
        elif op == "FusedBatchNorm":
            scale, offset, mean, variance = (rest.pop(0) for _ in range(4))
            y = (y - mean) * (scale / np.sqrt(variance + np.float32(epsilon))) + offset
        elif op == "Prelu":
            y = _kernel(op)(y, rest.pop(0))
        elif op == "LeakyRelu":
            y = _kernel(op)(y, alpha=alpha)
        elif op in SAME_AS_OP:
            y = _kernel(op)(y)
        elif op in _OTHERS:
            y = _OTHERS[op](y)
        elif op != NOTHING:
            raise RunFailed(f"fused op {op} is unsupported")
    return y


def _kernel(op: str) -> Callable[..., Any]:
    return KERNELS.of(op)[0].function


_OTHERS: dict[str, Callable[[Any], Any]] = {
    "GeluExact": lambda x: _kernel("Gelu")(x, approximate=False),
    "GeluApproximate": lambda x: _kernel("Gelu")(x, approximate=True),
    "_FusedHardSwish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}
