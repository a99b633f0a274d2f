"""Which nodes a provider of ONNX Runtime has a kernel for: asked with a model of one node, once per types.

To ask takes half a millisecond, so the CPU kernels that most models need are listed; a test asks ONNX Runtime
for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import onnxruntime as ort

from tfport.graph.dtypes import STRING
from tfport.runtime.engines.session_settings import session_options, share, to_share
from tfport.runtime.onnx.model import SMALL
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.pass_list import NodeForms, logging_passes
from tfport.runtime.program import OnnxNode

ON_CPU = ("CPUExecutionProvider",)
_NO_FALLBACK = ("session.disable_cpu_ep_fallback", "1")
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


class ProviderKernels:
    """The kernels of a provider."""

    def __init__(
        self,
        providers: Sequence[Any] = ON_CPU,
        forms: NodeForms = NodeForms.FASTEST,
        *,
        strings: bool = False,
    ) -> None:
        """`strings`: nodes may have string tensors, which are text in ONNX and any bytes in TensorFlow."""
        self._providers, self._forms, self._strings = list(providers), forms, strings
        self._known: dict[KernelKey, bool] = {}
        if tuple(providers) == ON_CPU:
            self._known.update(dict.fromkeys(cpu_kernels(), True))

    def has(self, node: OnnxNode) -> bool:
        if not self._strings and has_strings(node):
            return False
        key = (
            node.domain,
            node.op,
            *[o and o.dtype.name for o in node.inputs],
            *[o.dtype.name for o in node.outputs],
        )
        has = self._known.get(key)
        if has is None:
            has = self._known[key] = self._loads(node)
        return has

    def _loads(self, node: OnnxNode) -> bool:
        inputs = [o if o is None or _is_small(o) else Operand(o.dtype) for o in node.inputs]
        fresh = [o for o in inputs if o is not None and o.array is None]
        alone = OnnxNode(node.op, tuple(inputs), node.outputs, node.attrs, node.domain)
        try:
            with logging_passes(None):
                island = island_model([alone], fresh, node.outputs, forms=self._forms)
            options = session_options(1)
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            if tuple(self._providers) != ON_CPU:
                options.add_session_config_entry(*_NO_FALLBACK)
            shared = to_share(island.weights)
            share(options, shared)
            ort.InferenceSession(island.model.SerializeToString(), options, providers=self._providers)
        except Exception:  # any error means: not supported
            return False
        return True


def has_strings(node: OnnxNode) -> bool:
    """Whether a node reads or computes strings."""
    return any(operand is not None and operand.dtype == STRING for operand in (*node.inputs, *node.outputs))


def _is_small(operand: Operand) -> bool:
    return operand.array is not None and (operand.dtype == STRING or operand.array.nbytes <= SMALL)


def cpu_kernels() -> Iterator[KernelKey]:
    """Kernels that every ONNX Runtime has on a CPU."""
    for op, signatures in _USUAL.items():
        for letters in signatures.split():
            yield "", op, *[_TYPES[letter] for letter in letters]
