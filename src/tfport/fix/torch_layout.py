"""Weights with the axes and gates of PyTorch's modules.

What a weight is follows from the layer of Keras that has it, or, where there are no layers, from the ops that
read it. Other weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.frontends.keras.instance import OwnedWeight

if TYPE_CHECKING:
    from numpy.typing import NDArray

Axes = tuple[int, ...]
KERNELS: dict[tuple[str, int], Axes] = {
    ("MatMul", 2): (1, 0),
    ("Conv2D", 3): (2, 1, 0),  # a convolution of sequences, whose kernel gets an axis
    ("Conv2D", 4): (3, 2, 0, 1),
    ("Conv2DBackpropInput", 3): (2, 1, 0),
    ("Conv2DBackpropInput", 4): (3, 2, 0, 1),
    ("Conv3D", 5): (4, 3, 0, 1, 2),
    ("Conv3DBackpropInputV2", 5): (4, 3, 0, 1, 2),
    ("DepthwiseConv2dNative", 3): (1, 2, 0),
    ("DepthwiseConv2dNative", 4): (2, 3, 0, 1),
    ("CONV_2D", 4): (0, 3, 1, 2),
    ("DEPTHWISE_CONV_2D", 4): (3, 0, 1, 2),
    ("TRANSPOSE_CONV", 4): (3, 0, 1, 2),
    ("CONV_3D", 5): (4, 3, 0, 1, 2),
}  # fmt: skip
"""The order of the axes in PyTorch, by the op that reads a kernel as its second input, and its rank."""
DEPTHWISE = "DepthwiseConv2dNative"
MATRICES = ("kernel", "recurrent_kernel")
TRANSPOSED = ("Dense", "LSTMCell", "SimpleRNNCell")
"""Layers whose kernels PyTorch has transposed; the gates of an LSTM have the same order there."""
RESET_FIRST = (1, 0, 2)
"""The gates of a GRU as PyTorch has them: reset, update, new; Keras has the update gate first."""
ATTENTION, OUTPUT = ("MultiHeadAttention", "GroupedQueryAttention", "GroupQueryAttention"), "attention_output"


def in_torch_layout(array: NDArray[Any], owned: OwnedWeight | None, readers: Collection[str]) -> NDArray[Any]:
    """An array in the layout of PyTorch."""
    changed = _of_layer(array, owned) if owned is not None else None
    return np.ascontiguousarray(_of_op(array, readers) if changed is None else changed)


def _of_layer(array: NDArray[Any], owned: OwnedWeight) -> NDArray[Any] | None:
    """A weight of a layer whose class decides its layout; None for other layers."""
    layer = owned.layers[-1].config
    if layer.class_name == "GRUCell":
        return _reset_first(array, owned.name) if layer.config.get("reset_after") else array
    if layer.class_name in TRANSPOSED and array.ndim == 2:
        return array.T if owned.name in MATRICES else array
    if len(owned.layers) > 1 and owned.layers[-2].config.class_name in ATTENTION:
        return _of_heads(array, owned.name, layer.name)
    return None


def _reset_first(array: NDArray[Any], name: str) -> NDArray[Any]:
    """A weight of a GRU with the gates in the order of PyTorch; its biases are those of input and state."""
    gates = np.split(array, len(RESET_FIRST), axis=-1)
    ordered = np.concatenate([gates[gate] for gate in RESET_FIRST], axis=-1)
    return ordered.T if name in MATRICES else ordered


def _of_heads(array: NDArray[Any], name: str, projection: str) -> NDArray[Any]:
    """A weight of attention as that of a `Linear`, with the heads one after the other."""
    if name != "kernel":
        return array.reshape(-1)
    matrix = array.reshape(-1, array.shape[-1]) if projection == OUTPUT else array.reshape(len(array), -1)
    return matrix.T


def _of_op(array: NDArray[Any], readers: Collection[str]) -> NDArray[Any]:
    orders = {KERNELS.get((op, array.ndim)) for op in readers}
    if len(orders) != 1 or (order := orders.pop()) is None:
        return array
    array = array.transpose(order)
    # one group for each channel
    return array.reshape(-1, 1, *array.shape[2:]) if DEPTHWISE in readers else array
