"""Whether OpenVINO may answer in place of ONNX Runtime: for which islands, inputs and outputs.

OpenVINO does not fail for an index that is out of range, converts floats to integers and breaks ties in
its own ways, and where TensorFlow and ONNX Runtime pass NaN on, its Relu, Max or MaxPool drop it. So it may
run only islands of the ops below, which make no NaN of ordinary numbers, and only for such inputs; what it
answers in a race must be what ONNX Runtime answers, within the accuracy of the runtime.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.program import ONNX_TYPES

TOLERANCES = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}
"""The largest difference of two engines, as a part of the largest answer."""
LARGEST = 1e9
"""Floats beyond this are not ordinary: sums of their products may overflow."""
LARGEST_INTEGER = 2**24
"""Integers beyond this are not ordinary: on ARM64, OpenVINO computes with integers as float32."""
ALIKE = frozenset([
    "Abs", "Add", "And", "AveragePool", "BatchNormalization", "Ceil", "Clip", "Concat", "ConstantOfShape",
    "Conv", "ConvTranspose", "DepthToSpace", "Elu", "Equal", "Erf", "Expand", "Flatten", "Floor", "GRU",
    "Gelu", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "Greater", "GreaterOrEqual", "HardSigmoid",
    "HardSwish", "Identity", "LSTM", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "MatMul",
    "Max", "MaxPool", "Min", "Mul", "Neg", "Not", "Or", "PRelu", "Pad", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceSum", "Relu", "Reshape", "Resize", "Selu", "Shape", "Sigmoid", "Slice", "Softmax",
    "Softplus", "Softsign", "SpaceToDepth", "Split", "Squeeze", "Sub", "Sum", "Tanh", "Tile", "Transpose",
    "Unsqueeze", "Where",
])  # fmt: skip
"""Ops that mean the same in both engines for ordinary numbers, and give ordinary numbers."""
_IF_CONSTANT = {"Gather": 1, "Div": 1}
"""Ops that mean the same if this input is constant: indices in range, no division by zero."""
_LIMITS = {"f": LARGEST, "i": LARGEST_INTEGER, "u": LARGEST_INTEGER}
_FLOATS = tuple(ONNX_TYPES[name] for name in TOLERANCES)


def may_run_elsewhere(graph: pb.GraphProto) -> bool:
    """Whether every node of an island means the same in OpenVINO."""
    constants = {tensor.name for tensor in graph.initializer}
    of_sigmoids = set(_nodes_of_sigmoids(graph, constants))
    return all(
        not node.domain and (_is_alike(node, constants) or node.name in of_sigmoids) for node in graph.node
    )


def _nodes_of_sigmoids(graph: pb.GraphProto, constants: Container[str]) -> Iterator[str]:
    """The names of Exp and Reciprocal in `1 / (1 + exp(-x))`, as `onnx.accurate` writes Sigmoid."""
    makers = {output: node for node in graph.node for output in node.output}
    readers = Counter(name for node in graph.node for name in node.input)
    for node in graph.node:
        below = makers.get(node.input[0]) if node.op_type == "Reciprocal" else None
        if below is None or below.op_type != "Add" or below.input[1] not in constants:
            continue
        power = makers.get(below.input[0])
        if power is not None and power.op_type == "Exp" and readers[power.output[0]] == 1:
            yield from (node.name, power.name)


def _is_alike(node: pb.NodeProto, constants: Container[str]) -> bool:
    if node.op_type == "Cast":
        return all(attribute.i in _FLOATS for attribute in node.attribute if attribute.name == "to")
    decisive = _IF_CONSTANT.get(node.op_type)
    return node.op_type in ALIKE if decisive is None else node.input[decisive] in constants


def are_ordinary(arrays: Sequence[Any]) -> bool:
    """Whether inputs have elements, and all are numbers of a usual size."""
    return all(a.size and _is_within(a, _LIMITS.get(a.dtype.kind)) for a in arrays)


def _is_within(array: Any, limit: float | None) -> bool:
    return limit is None or (float(array.min()) > -limit and float(array.max()) < limit)


def agree(expected: Sequence[Any], answers: Sequence[Any]) -> bool:
    """Whether two engines give the same answers: equal, and floats within the tolerance."""
    return len(expected) == len(answers) and all(map(_agrees, expected, answers))


def _agrees(expected: Any, answer: Any) -> bool:
    if expected.dtype != answer.dtype or expected.shape != answer.shape:
        return False
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        return bool(np.array_equal(expected, answer))
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], answer[~finite], equal_nan=True):
        return False
    right, actual = (array[finite].astype(np.float64) for array in (expected, answer))
    difference = np.abs(actual - right).max(initial=0)
    return bool(difference <= tolerance * np.abs(right).max(initial=0))
