"""Which nodes OpenVINO may compute in place of ONNX Runtime, for the inputs that `same_answers` allows.

Only nodes that mean the same there, and that make ordinary numbers of ordinary numbers. OpenVINO 2026.4
differs as follows, found by running the recorded cases of `tests/runtime` in it (`all_elsewhere` there):

- It does not fail for an index that is out of range, and breaks ties in its own way.
- Its Relu, Max and MaxPool drop NaN, so nothing may be divided by what is computed, and there are no roots.
- It computes with integers in 32 bits, on ARM64 as float32: a node may move them, but not compute with them.
- It computes with float16 and float64 as float32, and numbers below 1.2e-38 are 0, so it does not compare.
- Softplus differs by 4e-4.
- On ARM64 ConvTranspose is wrong if its output has padding.

On ARM64 it computes convolutions with many channels and certain kernels by Winograd's algorithm: one of them
differs by up to 2e-5 of the largest answer. A race shows whether a network may be computed so (`race`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.fast_activations import is_usual_slope
from tfport.runtime.program import OnnxNode

MOVES = frozenset([
    "Concat", "DepthToSpace", "Expand", "Flatten", "Identity", "Pad", "Reshape", "Shape", "Slice",
    "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
])  # fmt: skip
"""Ops that compute nothing, so that integers stay what they are."""
COMPUTES = frozenset([
    "Abs", "Add", "And", "AveragePool", "BatchNormalization", "Clip", "Conv", "Elu", "Erf",
    "Gelu", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "HardSwish", "LayerNormalization",
    "LeakyRelu", "MatMul", "Max", "MaxPool", "Min", "Mul", "Neg", "Not", "Or", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceSum", "Relu", "Resize", "Selu", "Sigmoid", "Softmax", "Softsign", "Sub", "Sum",
    "Tanh", "Where",
])  # fmt: skip
"""Ops of floats and booleans."""
LEAST_DIVISOR = 1e-9
"""Divisors closer to zero may make infinities of ordinary numbers."""
PLAIN_CELL = frozenset(["hidden_size", "direction", "linear_before_reset"])
"""Attributes of recurrent nodes that mean the same; lengths of rows are not checked, for example."""
_FLOAT = "float32"
_WIDE_INTEGERS = frozenset(["int32", "int64"])
_TYPES = frozenset([_FLOAT, *_WIDE_INTEGERS, "bool", "int8", "int16", "uint8", "uint16"])


def may_run_elsewhere(node: OnnxNode) -> bool:
    """Whether a node means the same in OpenVINO, for ordinary inputs."""
    inputs = [operand for operand in node.inputs if operand is not None]
    types = {operand.dtype.name for operand in (*inputs, *node.outputs)}
    if node.domain or any(node.programs) or not types <= _TYPES or not all(map(_is_finite, inputs)):
        return False
    match node.op:
        case "Cast":
            source, target = inputs[0].dtype, node.outputs[0].dtype.name
            return target == _FLOAT or (target in _WIDE_INTEGERS and not source.is_floating)
        case "ConvTranspose":
            return not any(node.attrs.get("output_padding", ()))
        case "Div":
            return inputs[0].dtype.is_floating and _divides(inputs[1])
        case "Gather":
            return _is_in_range(inputs[1], inputs[0], node.attrs.get("axis", 0)) and not _has_huge(inputs)
        case "GRU" | "LSTM":
            return _is_plain_cell(node)
        case "PRelu":
            return is_usual_slope(inputs[1])
    if node.op in MOVES:
        return not _has_huge(inputs if node.op == "Concat" else inputs[:1])
    return node.op in COMPUTES and not any(o.dtype.is_integer for o in (inputs[0], *node.outputs))


def _is_plain_cell(node: OnnxNode) -> bool:
    """Whether a recurrent node has all steps of each row, no peepholes, and the usual activations."""
    others = (*node.inputs[4:5], *node.inputs[7:])
    return all(operand is None for operand in others) and node.attrs.keys() <= PLAIN_CELL


def _is_finite(operand: Operand) -> bool:
    """Whether a constant has neither NaN nor infinities; True for what is computed."""
    return operand.array is None or not operand.dtype.is_floating or bool(np.isfinite(operand.array).all())


def _divides(divisor: Operand) -> bool:
    """Whether a divisor is constant and not about zero."""
    return divisor.array is not None and bool((np.abs(divisor.array) >= LEAST_DIVISOR).all())


def _is_in_range(indices: Operand, data: Operand, axis: int) -> bool:
    """Whether indices are constant, and in the range of an axis of known size."""
    size = data.shape[axis] if data.shape is not None else None
    if indices.array is None or not indices.array.size or size is None:
        return False
    return bool(((indices.array >= -size) & (indices.array < size)).all())


def _has_huge(operands: Sequence[Operand]) -> bool:
    """Whether a constant has integers that are not ordinary."""
    arrays = [o.array for o in operands if o.array is not None and o.dtype.is_integer]
    return not all(are_ordinary([array]) for array in arrays if array.size)
