"""Nodes that compute more accurately, and islands that compute in 16 bits where that is safe.

The absolute error of ONNX Runtime's `Sigmoid` is 1e-7, several times the result where that is small, and so
the scores of a detector would change their order. On a GPU a score of 2e-5 differed by what `1 - Sigmoid(-x)`
makes there, an absolute error of 6e-8. `x · Sigmoid(x)` stays: ONNX Runtime has one kernel for it, and its
error is small compared with `x`. So does one whose results are quantized: their steps are far larger. An
exported model keeps all nodes.

In 16 bits, products (convolutions, matrix products, recurrent layers) always take 16-bit weights and inputs;
GPUs add them up in float32. What only moves or selects values, and simple arithmetic, stays in the type of
its input. Softmax, reductions, powers and logarithms are computed in float32. So are the inputs and outputs
of the island: other islands and host steps see the types of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.graph import reads_of
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.islands.fused_convolution import is_usual_convolution
from tfport.runtime.passes.pass_list import ONNX_RUNTIME_CPU, Condition, IslandUse, island_pass
from tfport.runtime.program import ONNX_TYPES, OnnxNode

_ACCURATE = ("float32", "float64")
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


GPU_FLOAT32 = Condition("on a GPU in float32", lambda t: not t.form.for_cpu and t.form.half is None)
GPU_HALF = Condition("on a GPU in 16 bits", lambda t: not t.form.for_cpu and t.form.half is not None)


@island_pass(when=ONNX_RUNTIME_CPU)
def accurate_sigmoid(graph: IslandGraph) -> None:
    """A Sigmoid whose small results matter is computed by an exponential and a reciprocal."""
    _rewrite_sigmoids(graph, gates_stay=False)


@island_pass(when=GPU_FLOAT32, bodies=False)
def accurate_sigmoid_on_gpu(graph: IslandGraph) -> None:
    """As `accurate_sigmoid`, but not for factors: there the error is small beside what is multiplied."""
    _rewrite_sigmoids(graph, gates_stay=True)


def _rewrite_sigmoids(graph: IslandGraph, *, gates_stay: bool) -> None:
    for node in graph.nodes:
        if node.op != "Sigmoid" or node.outputs[0].dtype.name not in _ACCURATE:
            continue
        output = node.outputs[0]
        stays = output not in graph.outputs and all(
            _is_swish(node, r) or r.op == "QuantizeLinear" or (gates_stay and r.op == "Mul")
            for r in graph.readers(output)
        )
        if not stays:
            graph.replace(node, *_sigmoid(node))


def _is_swish(sigmoid: OnnxNode, reader: OnnxNode) -> bool:
    return reader.op == "Mul" and {*reader.inputs} == {*sigmoid.inputs, *sigmoid.outputs}


def _sigmoid(node: OnnxNode) -> list[OnnxNode]:
    """`1 / (1 + exp(-x))`: where the exponential overflows, the result is below the smallest normal float."""
    x = node.inputs[0]
    b = Builder(node.outputs[0].name)
    below = b.Add(b.Exp(b.Neg(x)), b.const(1, node.outputs[0].dtype))
    return [*b.added, OnnxNode("Reciprocal", (below,), node.outputs, {})]


@island_pass(when=GPU_HALF, bodies=False)
def reduced_precision(graph: IslandGraph) -> None:
    """Products and what follows them are computed in 16 bits, where that is safe and there is a kernel."""
    target = graph.target
    assert target.form.half is not None
    is_apart = is_usual_convolution if target.use is IslandUse.CONVOLUTIONS_APART else lambda node: False
    rewrite = _Rewrite(DType.parse(target.form.half), target.has_kernel, is_apart)
    for node in graph.nodes:
        rewrite.take(node)
    for operand in graph.outputs:
        rewrite.full(operand)
    graph.nodes = rewrite.nodes


class _Rewrite:
    """Collects the nodes; a float32 operand exists in float32, in 16 bits, or in both."""

    def __init__(
        self, half: DType, has_kernel: Callable[[OnnxNode], bool], is_apart: Callable[[OnnxNode], bool]
    ) -> None:
        self.nodes: list[OnnxNode] = []
        self._half, self._has_kernel, self._is_apart = half, has_kernel, is_apart
        """The last says whether another library computes a node, in any type."""
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
        data = DATA.get(node.op, range(len(node.inputs)))
        inputs = tuple(
            Operand(self._half, o.shape) if o is not None and i in data and o.dtype == FLOAT32 else o
            for i, o in enumerate(node.inputs)
        )
        outputs = tuple(Operand(self._half, o.shape) if o.dtype == FLOAT32 else o for o in node.outputs)
        return OnnxNode(node.op, inputs, outputs, node.attrs, node.domain)

    def _compute_narrow(self, node: OnnxNode) -> None:
        data = DATA.get(node.op, range(len(node.inputs)))
        inputs = tuple(
            self.narrow(o) if o is not None and i in data else (o and self.full(o))
            for i, o in enumerate(node.inputs)
        )
        outputs = []
        for output in node.outputs:
            if output.dtype == FLOAT32:
                self._narrow[output] = Operand(self._half, output.shape, name=output.name)
                self._missing.add(output)
            outputs.append(self._narrow.get(output, output))
        self.nodes.append(OnnxNode(node.op, inputs, tuple(outputs), node.attrs, node.domain, node.means))

    def _compute_full(self, node: OnnxNode) -> None:
        for operand in reads_of(node):
            self.full(operand)
        self.nodes.append(node)

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
        self.nodes.append(OnnxNode("Cast", (source,), (output,), {"to": ONNX_TYPES[output.dtype.name]}))


def _data(node: OnnxNode) -> list[Operand]:
    data = DATA.get(node.op, range(len(node.inputs)))
    return [o for i, o in enumerate(node.inputs) if o is not None and i in data]


def _narrowed(array: np.ndarray[Any, Any], half: DType) -> np.ndarray[Any, Any]:
    """A constant in 16 bits; one beyond its range, such as the -1e9 of a mask, becomes its largest number."""
    most = float(ml_dtypes.finfo(half.numpy).max)  # type: ignore[no-untyped-call]
    finite = np.isfinite(array)
    return np.where(finite, np.clip(array, -most, most), array).astype(half.numpy)
