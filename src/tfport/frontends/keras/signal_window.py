"""The weights of the elements of a frame, before its Fourier transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfport.frontends.keras.layer_builder import LayerBuilder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RAISED = {"hann": 0.5, "hamming": 0.54}


def signal_window(b: LayerBuilder, name: str | None, length: int, fft_length: int) -> NDArray[np.float64]:
    """The window of a name with zeros around it up to the length of the transform; ones without a name.

    TensorFlow ends windows of odd lengths at their last element, other backends one element later. Without a
    name, PyTorch alone has zeros around the ones.
    """
    backend = b.model.file.backend or "tensorflow"
    if name is None:
        weights = np.ones(length if backend == "torch" else fft_length)
    elif name in _RAISED:
        is_closed = length % 2 == 1 and backend == "tensorflow"
        turn = 2 * np.pi * np.arange(length) / max(1, length - is_closed)
        weights = np.ones(1) if length == 1 else _RAISED[name] - (1 - _RAISED[name]) * np.cos(turn)
    else:
        raise b.refuse(f"its window {name!r} is unknown")
    rest = fft_length - len(weights)
    return np.pad(weights, (rest // 2, rest - rest // 2))
