"""L2Loss, lowered to ONNX."""

from __future__ import annotations

import numpy as np

from tfport.runtime.lower import lower


@lower("L2Loss")
def l2_loss(b, t):
    flat = b.Reshape(t, b.ints(-1))
    total = b.ReduceSum(b.Mul(flat, flat), b.ints(0), keepdims=0)
    return b.Mul(total, b.const(np.float32(0.5), t.dtype))
