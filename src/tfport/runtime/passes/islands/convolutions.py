"""Fuse nodes around convolutions into them: constant factors and offsets after, padding before.

Batch normalization has been lowered to a factor and an offset per channel, a bias to an offset;
both become part of a convolution's weights and bias if nothing else reads the output of the
convolution. The mean of each channel becomes a global average pooling, for which engines have
kernels in the layout of convolutions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.contiguous_copy import contiguous
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPACE = (2, 3)


@island_pass()
def fuse_convolutions(graph: IslandGraph) -> None:
    """Constant factors, offsets and padding around a convolution become part of it."""
    if graph.ops.isdisjoint(("Conv", "ConvTranspose")):
        return
    fusing = _Fusing(graph)
    for node in graph.nodes:
        fusing.take(node)


class _Fusing:
    def __init__(self, graph: IslandGraph) -> None:
        self.graph = graph

    def take(self, node: OnnxNode) -> None:
        if node.op in ("Conv", "MaxPool"):
            self._add_padding(node)
        elif node.op in ("Mul", "Div", "Add", "Sub"):
            if not self._is_fused(node) and (fused := self._normalization(node)) is not None:
                self.graph.replace(node, fused)
        elif node.op == "ReduceMean" and _is_mean_of_channels(node):
            self.graph.replace(node, *_mean_of_channels(node))

    def producer(self, operand: Operand | None, op: str) -> OnnxNode | None:
        """The node that computes an operand, if it has this op."""
        node = self.graph.producer(operand, op)
        return node if node is not None and not node.domain else None

    def _is_fused(self, node: OnnxNode) -> bool:
        """Whether the node was fused into a convolution before it, possibly through a Squeeze."""
        conv = self._convolution_before(node.inputs if node.op in ("Mul", "Add") else node.inputs[:1])
        squeeze = None
        if conv is None:
            squeezes = (
                self.producer(o, "Squeeze") for o in node.inputs if o is not None and self.graph.uses(o) == 1
            )
            squeeze = next(filter(None, squeezes), None)
            conv = self._convolution_before(squeeze.inputs[:1]) if squeeze is not None else None
        if conv is None:
            return False
        fused = _fused_node(conv, node) if squeeze is None else _fused_through_squeeze(conv, squeeze, node)
        if fused is None:
            return False
        self.graph.replace(conv)
        self.graph.replace(node, *fused)
        return True

    def _convolution_before(self, inputs: Iterable[Operand | None]) -> OnnxNode | None:
        """The convolution with constant weights whose output only this node reads."""
        for operand in inputs:
            producer = self.producer(operand, "Conv") or self.producer(operand, "ConvTranspose")
            if producer is not None and operand is not None and self.graph.uses(operand) == 1:
                return (
                    producer if all(o is None or o.array is not None for o in producer.inputs[1:]) else None
                )
        return None

    def _normalization(self, node: OnnxNode) -> OnnxNode | None:
        """A factor and then an offset per channel as one BatchNormalization node."""
        if node.op != "Add":
            return None
        x, offset = _and_constant(node)
        mul = self.producer(x, "Mul")
        if mul is None or x is None or offset is None or self.graph.uses(x) != 1:
            return None
        x, factor = _and_constant(mul)
        if x is None or x.rank != 4 or x.shape is None or x.shape[1] is None or factor is None:
            return None
        vectors = [_per_channel(array, x.shape[1], 4) for array in (factor, offset)]
        if x.dtype != FLOAT32 or any(v is None for v in vectors) or max(factor.size, offset.size) == 1:
            return None
        units = [np.zeros(x.shape[1], np.float32), np.ones(x.shape[1], np.float32)]
        inputs = (
            x,
            *(Operand(FLOAT32, value=np.ascontiguousarray(v), name="fused") for v in (*vectors, *units)),
        )
        return OnnxNode("BatchNormalization", inputs, node.outputs, {"epsilon": 0.0})

    def _add_padding(self, node: OnnxNode) -> None:
        """Give a node the padding of a preceding zero Pad, possibly through a Transpose."""
        transpose = self.producer(node.inputs[0], "Transpose")
        pad = self.producer(transpose.inputs[0] if transpose is not None else node.inputs[0], "Pad")
        around = _zeros_around(pad) if pad is not None and "auto_pad" not in node.attrs else None
        if (
            pad is None
            or around is None
            or (node.op == "MaxPool" and not self._is_harmless(pad, around, node))
        ):
            return
        if transpose is not None:
            around = around[:, list(transpose.attrs["perm"])]
        if around[:, :2].any():
            return
        x, before = pad.inputs[0], []
        if transpose is not None:
            sizes = None if x is None or x.shape is None else [x.shape[i] for i in transpose.attrs["perm"]]
            transposed = Operand(node.outputs[0].dtype, sizes, name="transposed")
            before = [OnnxNode("Transpose", (x,), (transposed,), transpose.attrs)]
            x = transposed
        own = np.array(node.attrs.get("pads", [0] * (2 * around.shape[1] - 4))).reshape(2, -1)
        total = (own + around[:, 2:]).reshape(-1).tolist()
        padded = OnnxNode(node.op, (x, *node.inputs[1:]), node.outputs, {**node.attrs, "pads": total})
        self.graph.replace(node, *before, padded)

    def _is_harmless(self, pad: OnnxNode, around: NDArray[Any], node: OnnxNode) -> bool:
        """Whether max pooling may ignore the zeros: no element is negative, no window has only padding."""
        if (
            self.producer(pad.inputs[0], "Relu") is None
            or around.shape[1] != len(node.attrs["kernel_shape"]) + 2
        ):
            return False
        own = np.array(node.attrs.get("pads", [0] * (2 * around.shape[1] - 4))).reshape(2, -1)
        return bool(((own + around[:, 2:]) < node.attrs["kernel_shape"]).all()) and not own.any()


def _mean_of_channels(node: OnnxNode) -> list[OnnxNode]:
    if node.attrs.get("keepdims", 1):
        return [OnnxNode("GlobalAveragePool", node.inputs[:1], node.outputs, {})]
    whole = Operand(FLOAT32, (*(node.outputs[0].shape or (None, None)), 1, 1), name="mean")
    return [
        OnnxNode("GlobalAveragePool", node.inputs[:1], (whole,), {}),
        OnnxNode("Squeeze", (whole, node.inputs[1]), node.outputs, {}),
    ]


def _and_constant(node: OnnxNode) -> tuple[Operand | None, NDArray[Any] | None]:
    """The input that is computed, and the value of the other input if it is constant."""
    first, second = node.inputs
    if first is None or second is None:
        return None, None
    return (second, first.array) if first.array is not None else (first, second.array)


def _is_mean_of_channels(node: OnnxNode) -> bool:
    x, axes = node.inputs[0], node.inputs[1] if len(node.inputs) > 1 else None
    if x is None or x.rank != 4 or x.dtype != FLOAT32 or axes is None or axes.array is None:
        return False
    return tuple(sorted(axes.array.reshape(-1).tolist())) == _SPACE


def _zeros_around(pad: OnnxNode) -> NDArray[Any] | None:
    """The number of zeros that a Pad adds before and after each axis; None if it does anything else."""
    pads, value = pad.inputs[1], pad.inputs[2] if len(pad.inputs) > 2 else None
    zero = value is None or (value.array is not None and not value.array.any())
    if pads is None or pads.array is None or not zero or len(pad.inputs) > 3:
        return None
    if pad.attrs.get("mode", "constant") != "constant" or (pads.array < 0).any():
        return None
    return pads.array.reshape(2, -1)


def _fused_through_squeeze(conv: OnnxNode, squeeze: OnnxNode, node: OnnxNode) -> list[OnnxNode] | None:
    """As `_fused_node`, for a node after a Squeeze of spatial axes."""
    axes = squeeze.inputs[1] if len(squeeze.inputs) > 1 else None
    weights, index = conv.inputs[1], 0 if node.inputs[0] is squeeze.outputs[0] else 1
    other = node.inputs[1 - index]
    if axes is None or axes.array is None or weights is None or other is None or other.array is None:
        return None
    rank = weights.rank or 0
    removed = tuple(sorted(int(axis) % rank for axis in axes.array.reshape(-1)))
    left = rank - len(removed)
    if min(removed) < 2 or other.array.ndim > left or (index and node.op in ("Div", "Sub")):
        return None
    whole = other.array.reshape((1,) * (left - other.array.ndim) + other.array.shape)
    constant = Operand(other.dtype, value=np.expand_dims(whole, removed))
    output = Operand(node.outputs[0].dtype, conv.outputs[0].shape, name="fused")
    fused = _fused_node(conv, OnnxNode(node.op, (conv.outputs[0], constant), (output,), node.attrs))
    return fused and [*fused, OnnxNode("Squeeze", (output, axes), node.outputs, squeeze.attrs)]


def _fused_node(conv: OnnxNode, node: OnnxNode) -> list[OnnxNode] | None:
    """A convolution that includes the node after it; None if that is not a constant per channel."""
    weights = conv.inputs[1]
    other = next((o for o in node.inputs if o is not conv.outputs[0]), None)
    if weights is None or weights.array is None or other is None or other.array is None:
        return None
    axis = 0 if conv.op == "Conv" else 1
    if axis and conv.attrs.get("group", 1) != 1:
        return None
    vector = _per_channel(other.array, weights.array.shape[axis], weights.array.ndim)
    if vector is None or not np.isfinite(vector).all() or (node.op == "Div" and not vector.all()):
        return None
    bias = conv.inputs[2].array if len(conv.inputs) > 2 and conv.inputs[2] is not None else None
    w, b = weights.array, np.zeros(len(vector), weights.array.dtype) if bias is None else bias
    if node.op in ("Mul", "Div"):
        factor = vector if node.op == "Mul" else 1 / vector
        w, b = w * factor.reshape(-1, *[1] * (w.ndim - 1 - axis)), b * factor
    else:
        b = b + vector if node.op == "Add" else b - vector
    changed = weights if w is weights.array else _constant(weights, w)
    return [OnnxNode(conv.op, (conv.inputs[0], changed, _constant(weights, b)), node.outputs, conv.attrs)]


def _constant(like: Operand, value: NDArray[Any]) -> Operand:
    return Operand(like.dtype, value=contiguous(value.astype(like.dtype.numpy, copy=False)), name="fused")


def _per_channel(array: NDArray[Any], channels: int, rank: int) -> NDArray[Any] | None:
    """A constant as one number per channel; None if it differs along another axis."""
    if array.ndim > rank:
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    if any(n != 1 for i, n in enumerate(shape) if i != 1) or shape[1] not in (1, channels):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,))
