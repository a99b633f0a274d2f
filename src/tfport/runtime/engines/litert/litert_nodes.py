"""Which nodes LiteRT may compute in place of ONNX Runtime, for the inputs that `same_answers` allows.

Only nodes that make ordinary numbers of ordinary numbers, as for OpenVINO (`openvino_nodes`), or whose
results are looked at in each run: quotients, roots and exponentials. XNNPACK has float32 only; integers are
those of shapes, which are known when a model is translated. What else depends on sizes is decided then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfport.runtime.engines.litert.rules.whole_axes import CENTERS
from tfport.runtime.onnx.known_results import KNOWN, OF_SIZES
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

OPS = frozenset(
    ["Abs", "Add", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Conv", "ConvTranspose",
     "DepthToSpace", "Div", "Elu", "Exp", "Flatten", "Gather", "Gelu", "Gemm", "GlobalAveragePool",
     "GlobalMaxPool", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "MatMul", "Max", "MaxPool", "Min",
     "Mul", "Neg", "PRelu", "Pad", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Relu",
     "Reshape", "Resize", "Sigmoid", "Slice", "Softmax", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub",
     "Sum", "Tanh", "Transpose", "Unsqueeze"]
)  # fmt: skip
"""The ops that XNNPACK computes well; files for other interpreters have more (`translate`)."""
MOST_AXES = 4
"""Of an image with its channels; a volume has one more."""
_FLOAT = "float32"
_CAST = frozenset(["int32", "uint8", _FLOAT])


class LiteRtNodes:
    """Asked about the nodes of an island in the order in which they run."""

    def __init__(self) -> None:
        self._sizes: set[Operand] = set()
        """What follows from the sizes of the inputs alone."""

    def __call__(self, node: OnnxNode) -> bool:
        """Whether LiteRT may compute a node, or it is known before a run."""
        inputs = [operand for operand in node.inputs if operand is not None]
        if node.domain or any(node.programs) or not inputs or not all(map(_is_finite, inputs)):
            return False
        if node.op in OF_SIZES or (node.op in KNOWN and all(map(self._is_known, inputs))):
            self._sizes.update(node.outputs)
            return True
        if node.op not in OPS or any(output.dtype.name != _FLOAT for output in node.outputs):
            return False
        if node.op != "Cast" and inputs[0].dtype.name != _FLOAT:
            return False
        return node.op not in _CONDITIONS or _CONDITIONS[node.op](node)

    def _is_known(self, operand: Operand) -> bool:
        return operand.array is not None or operand in self._sizes


def _has_weights(node: OnnxNode) -> bool:
    """Whether all inputs after the first are constant."""
    return all(operand is None or operand.array is not None for operand in node.inputs[1:])


def _is_convolution(node: OnnxNode) -> bool:
    weights = node.inputs[1]
    return _has_weights(node) and weights is not None and len(weights.shape or ()) <= MOST_AXES


def _is_pooling(node: OnnxNode) -> bool:
    return len(node.attrs.get("kernel_shape", ())) <= MOST_AXES - 2 and len(node.outputs) == 1


def _is_padding(node: OnnxNode) -> bool:
    """Whether zeros are added."""
    _, pads, *others = node.inputs
    if node.attrs.get("mode", "constant") != "constant" or pads is None or pads.array is None:
        return False
    value = others[0] if others else None
    is_zero = value is None or (value.array is not None and not value.array.any())
    return is_zero and bool((pads.array >= 0).all())


def _is_dense(node: OnnxNode) -> bool:
    attrs = node.attrs
    return (
        _has_weights(node) and not attrs.get("transA") and attrs.get("alpha", 1) == attrs.get("beta", 1) == 1
    )


def _is_linear(node: OnnxNode) -> bool:
    attrs = node.attrs
    centers = attrs.get("coordinate_transformation_mode", "half_pixel")
    return attrs.get("mode") == "linear" and centers in CENTERS and not attrs.get("antialias")


_CONDITIONS: dict[str, Callable[[OnnxNode], bool]] = {
    "AveragePool": _is_pooling,
    "BatchNormalization": _has_weights,
    "Cast": lambda node: node.inputs[0] is not None and node.inputs[0].dtype.name in _CAST,
    "Clip": _has_weights,
    "Conv": _is_convolution,
    "ConvTranspose": _is_convolution,
    "DepthToSpace": lambda node: node.attrs.get("mode", "DCR") == "DCR",
    "Elu": lambda node: node.attrs.get("alpha", 1) == 1,
    "Gather": _has_weights,
    "Gelu": lambda node: node.attrs.get("approximate") == "tanh",
    "Gemm": _is_dense,
    "MatMul": lambda node: node.inputs[0] is not None and node.inputs[0].array is None,
    "MaxPool": _is_pooling,
    "PRelu": _has_weights,
    "Pad": _is_padding,
    "Resize": _is_linear,
    "Slice": lambda node: len(node.inputs) < 5 or _is_forward(node.inputs[4]),
}


def _is_forward(steps: Operand | None) -> bool:
    return steps is None or (steps.array is not None and bool((steps.array > 0).all()))


def _is_finite(operand: Operand) -> bool:
    return operand.array is None or not operand.dtype.is_floating or bool(np.isfinite(operand.array).all())
