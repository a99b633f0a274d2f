"""Kernels that every ONNX Runtime has on a CPU: to ask for one takes half a millisecond.

They are those that most models need. A test asks ONNX Runtime for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

KernelKey = tuple[object, ...]
"""The domain and the op of a node, and the types of its inputs and outputs; None for one that it lacks."""
_TYPES = {"b": "bool", "f": "float32", "i": "int32", "l": "int64", "u": "uint8", "-": None}
_USUAL = {
    "Abs": "ff ii ll", "Add": "fff iii lll", "And": "bbb", "ArgMax": "fl", "AveragePool": "ff",
    "BitwiseAnd": "iii lll", "Cast": "bf bi bl fi fl if il lb lf li uf", "Ceil": "ff", "Clip": "ffff",
    "Concat": "fff ffff fffff ffffff fffffff iii iiii iiiii lll llll lllll llllll lllllll",
    "ConstantOfShape": "lf li ll", "Conv": "fff", "ConvTranspose": "fff", "Div": "fff iii lll",
    "Equal": "ffb iib llb", "Exp": "ff", "Expand": "flf ili lll", "Floor": "ff",
    "Gather": "fif flf iii ili lil lll", "Greater": "ffb iib llb", "GreaterOrEqual": "ffb iib llb",
    "Identity": "bb ff ii ll", "IsInf": "fb", "IsNaN": "fb", "LeakyRelu": "ff", "Less": "ffb iib llb",
    "LessOrEqual": "ffb iib llb", "Log": "ff", "MatMul": "fff", "Max": "fff iii lll", "MaxPool": "ff",
    "Min": "fff iii lll", "Mod": "iii lll", "Mul": "fff iii lll", "Neg": "ff ii ll",
    "NonMaxSuppression": "fflffl", "NonZero": "bl", "Not": "bb", "Or": "bbb", "Pad": "flf fl-f",
    "Range": "iiii llll", "Reciprocal": "ff", "ReduceMax": "flf ili lll", "ReduceMean": "flf",
    "ReduceMin": "flf ili lll", "ReduceProd": "ili lll", "ReduceSum": "ff flf ili lll", "Relu": "ff",
    "Reshape": "blb flf ili lll", "ReverseSequence": "flf", "Shape": "fl il ll", "Sigmoid": "ff",
    "Size": "fl", "Slice": "flllf fllllf illli illlli lllll llllll", "Softmax": "ff", "Split": "flff flffff",
    "Sqrt": "ff", "Squeeze": "flf ili lll", "Sub": "fff iii lll", "Tanh": "ff", "Tile": "flf", "TopK": "flfl",
    "Transpose": "ff ii ll", "Unsqueeze": "blb flf ili lll", "Where": "bfff biii blll", "Xor": "bbb",
}  # fmt: skip
"""For each op the types of its inputs and outputs, a letter each."""


def cpu_kernels() -> Iterator[KernelKey]:
    for op, signatures in _USUAL.items():
        for letters in signatures.split():
            yield "", op, *[_TYPES[letter] for letter in letters]
