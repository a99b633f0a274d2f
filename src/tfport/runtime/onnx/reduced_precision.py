"""Compute an island in float16 or bfloat16 where that is safe, and in float32 elsewhere.

Products (convolutions, matrix products, recurrent layers) always take 16-bit weights and inputs; GPUs add
them up in float32. What only moves or selects values, and simple arithmetic, stays in the type of its input.
Softmax, reductions, powers and logarithms are computed in float32. So are the inputs and outputs of the
island: other islands and host steps see the types of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.operand import Operand
from tfport.runtime.program import ONNX_TYPES, OnnxNode

PRODUCTS = frozenset(["Conv", "ConvTranspose", "GRU", "Gemm", "LSTM", "MatMul", "MultiHeadAttention", "RNN"])
"""Always in 16 bits."""
FOLLOWERS = frozenset([
    "Abs", "Add", "Clip", "Concat", "DepthToSpace", "Elu", "Expand", "Flatten", "Gather", "GatherND", "Gelu",
    "HardSigmoid", "HardSwish", "Identity", "LayerNormalization", "LeakyRelu", "Max", "MaxPool", "Min", "Mul",
    "Neg", "PRelu", "Pad", "Relu", "Reshape", "Selu", "Sigmoid", "Slice", "Softsign", "SpaceToDepth", "Split",
    "Squeeze", "Sub", "Tanh", "Tile", "Transpose", "Unsqueeze", "Where",
])  # fmt: skip
"""In 16 bits if an input is. LayerNormalization adds up in float32 whatever the type of its input is."""
DATA = {"Gather": (0,), "GatherND": (0,), "Reshape": (0,), "Expand": (0,), "Tile": (0,), "Slice": (0,),
        "Squeeze": (0,), "Unsqueeze": (0,), "Split": (0,), "Pad": (0, 2), "LSTM": (0, 1, 2, 3, 5, 6, 7),
        "GRU": (0, 1, 2, 3, 5), "RNN": (0, 1, 2, 3, 5), "Where": (1, 2),
        "MultiHeadAttention": (0, 1, 2, 3, 5)}  # fmt: skip
"""The inputs that have the type of the data, where it is not all of them."""


def in_reduced_precision(
    nodes: Sequence[OnnxNode],
    outputs: Sequence[Operand],
    half: DType,
    has_kernel: Callable[[OnnxNode], bool],
    is_apart: Callable[[OnnxNode], bool] = lambda node: False,
) -> list[OnnxNode]:
    """The nodes with 16-bit operands where that is safe and the engine has a kernel, and casts between.

    `is_apart`: whether another library computes a node, in any type.
    """
    rewrite = _Rewrite(half, has_kernel, is_apart)
    for node in nodes:
        rewrite.take(node)
    for operand in outputs:
        rewrite.full(operand)
    return rewrite.made


class _Rewrite:
    """Collects the nodes; a float32 operand exists in float32, in 16 bits, or in both."""

    def __init__(
        self, half: DType, has_kernel: Callable[[OnnxNode], bool], is_apart: Callable[[OnnxNode], bool]
    ) -> None:
        self.made: list[OnnxNode] = []
        self._half, self._has_kernel, self._is_apart = half, has_kernel, is_apart
        self._narrow: dict[Operand, Operand] = {}
        """The 16-bit operand of each float32 operand that has one."""
        self._missing: set[Operand] = set()
        """Operands that do not exist in float32 yet."""

    def take(self, node: OnnxNode) -> None:
        data = [o for o in _data(node) if o.dtype == FLOAT32]
        follows = node.op in FOLLOWERS and any(o in self._missing for o in data)
        is_product = node.op in PRODUCTS and bool(data)
        if (is_product or follows) and (self._is_apart(node) or self._has_kernel(self._typed_narrow(node))):
            self._compute_narrow(node)
        else:
            self._compute_full(node)

    def _typed_narrow(self, node: OnnxNode) -> OnnxNode:
        """A node of the same types as the narrow one, to ask for its kernel."""
        places = DATA.get(node.op, range(len(node.inputs)))
        inputs = tuple(
            Operand(self._half, o.shape) if o is not None and i in places and o.dtype == FLOAT32 else o
            for i, o in enumerate(node.inputs)
        )
        outputs = tuple(Operand(self._half, o.shape) if o.dtype == FLOAT32 else o for o in node.outputs)
        return OnnxNode(node.op, inputs, outputs, node.attrs, node.domain)

    def _compute_narrow(self, node: OnnxNode) -> None:
        places = DATA.get(node.op, range(len(node.inputs)))
        inputs = tuple(
            self.narrow(o) if o is not None and i in places else (o and self.full(o))
            for i, o in enumerate(node.inputs)
        )
        outputs = []
        for output in node.outputs:
            if output.dtype == FLOAT32:
                self._narrow[output] = Operand(self._half, output.shape, name=output.name)
                self._missing.add(output)
            outputs.append(self._narrow.get(output, output))
        self.made.append(OnnxNode(node.op, inputs, tuple(outputs), node.attrs, node.domain, node.means))

    def _compute_full(self, node: OnnxNode) -> None:
        for operand in (o for program in node.programs for o in program.captures()):
            self.full(operand)
        for present in filter(None, node.inputs):
            self.full(present)
        self.made.append(node)

    def narrow(self, operand: Operand) -> Operand:
        if operand.dtype != FLOAT32:
            return operand
        if operand not in self._narrow:
            array = operand.array
            if array is not None:
                value = _narrowed(array, self._half)
                self._narrow[operand] = Operand(self._half, value=value, name=operand.name)
            else:
                self._narrow[operand] = Operand(self._half, operand.shape, name=operand.name)
                self._cast(operand, self._narrow[operand])
        return self._narrow[operand]

    def full(self, operand: Operand) -> Operand:
        if operand in self._missing:
            self._missing.remove(operand)
            self._cast(self._narrow[operand], operand)
        return operand

    def _cast(self, source: Operand, output: Operand) -> None:
        self.made.append(OnnxNode("Cast", (source,), (output,), {"to": ONNX_TYPES[output.dtype.name]}))


def _data(node: OnnxNode) -> list[Operand]:
    places = DATA.get(node.op, range(len(node.inputs)))
    return [o for i, o in enumerate(node.inputs) if o is not None and i in places]


def _narrowed(array: np.ndarray[Any, Any], half: DType) -> np.ndarray[Any, Any]:
    """A constant in 16 bits; one beyond its range, such as the -1e9 of a mask, becomes its largest number."""
    most = float(ml_dtypes.finfo(half.numpy).max)  # type: ignore[no-untyped-call]
    finite = np.isfinite(array)
    return np.where(finite, np.clip(array, -most, most), array).astype(half.numpy)
