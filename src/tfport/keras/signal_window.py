"""The weights of the elements of a frame, before its Fourier transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tfport.keras.layer_builder import LayerBuilder

_RAISED = {"hann": 0.5, "hamming": 0.54}


def signal_window(b: LayerBuilder, name: str | None, length: int, fft_length: int) -> NDArray[np.float64]:
    """The window of a name, ones without one, and zeros around it up to the length of the transform.

    TensorFlow ends windows of odd lengths at their last element, other backends one element later.
    """
    if name is None:
        weights = np.ones(length)
    elif name in _RAISED:
        is_closed = length % 2 == 1 and b.model.file.backend != "jax"
        turn = 2 * np.pi * np.arange(length) / max(1, length - is_closed)
        weights = np.ones(1) if length == 1 else _RAISED[name] - (1 - _RAISED[name]) * np.cos(turn)
    else:
        raise b.refuse(f"its window {name!r} is unknown")
    before = (fft_length - length) // 2
    return np.pad(weights, (before, fft_length - length - before))
