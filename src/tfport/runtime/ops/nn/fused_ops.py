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


def _gelu_exact(x: Any) -> Any:
    from scipy import special

    return x * (1 + special.erf(x / np.float32(np.sqrt(2)))) / 2


def _gelu_approximate(x: Any) -> Any:
    return x * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x**3))) / 2


_OTHERS: dict[str, Callable[[Any], Any]] = {
    "GeluExact": _gelu_exact,
    "GeluApproximate": _gelu_approximate,
    "_FusedHardSwish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}
