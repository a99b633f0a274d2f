"""LSTM layers of TensorFlow Lite, lowered to ONNX where its LSTM computes the same."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, constant_of, lower


@lower("LiteLstm")
def lstm(
    b, x, weights, recurrent, bias, peephole, norm, projection, projection_bias, output_state, cell_state,
    *, activation, cell_clip, projection_clip, rounding,
):  # fmt: skip
    """ONNX has no normalization, projection or limits; its gates are input, output, forget, cell."""
    plain = all(constant_of(part, "a weight").size == 0 for part in (norm, projection, projection_bias))
    if not plain or rounding or cell_clip > 0 or activation != "TANH":
        raise CannotLower("ONNX has no such LSTM")
    w, r, shift = (_reordered(constant_of(part, "a weight")) for part in (weights, recurrent, bias))
    into = constant_of(peephole, "a peephole")
    peepholes = None
    if into.size:
        first, forget, last = np.split(into, 3)
        peepholes = b.const(np.concatenate([first, last, forget])[None], FLOAT32)
    hidden = w.shape[0] // 4
    y, output, cell = b.nodes(
        "LSTM", x, b.const(w[None], FLOAT32), b.const(r[None], FLOAT32),
        b.const(np.concatenate([shift, np.zeros_like(shift)])[None], FLOAT32), None,
        b.unsqueeze(output_state, 0), b.unsqueeze(cell_state, 0), peepholes, outputs=3, hidden_size=hidden,
    )  # fmt: skip
    return b.squeeze(y, 1), b.squeeze(output, 0), b.squeeze(cell, 0)


def _reordered(gates):
    enter, forget, cell, leave = np.split(gates, 4)
    return np.concatenate([enter, leave, forget, cell])
