"""ONNX Runtime has the kernels that it is not asked for."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.provider_kernels import ON_CPU, ProviderKernels, cpu_kernels
from tfport.runtime.operand import Operand
from tfport.runtime.program import ONNX_TYPES, OnnxNode

WINDOW = {"kernel_shape": [2, 2]}
ATTRS = {
    "AveragePool": WINDOW,
    "Concat": {"axis": 0},
    "MaxPool": WINDOW,
    "Split": {"axis": 0},
}
OUTPUTS = {"TopK": 2}


def node_of(key):
    _, op, *types = key
    outputs = OUTPUTS.get(op, 1) if op != "Split" else len(types) - 2
    operands = [None if name is None else Operand(DType.parse(name)) for name in types]
    attrs = dict(ATTRS.get(op, {}))
    if op == "Cast":
        attrs["to"] = ONNX_TYPES[types[-1]]
    if op == "ConstantOfShape":
        attrs["value"] = np.zeros(1, types[-1])
    return OnnxNode(op, tuple(operands[:-outputs]), tuple(operands[-outputs:]), attrs)


@pytest.mark.parametrize("key", list(cpu_kernels()), ids=lambda key: " ".join(map(str, key[1:])))
def test_onnx_runtime_has_it(key):
    assert ProviderKernels()._loads(node_of(key))


def test_a_missing_kernel_is_noticed():
    assert not ProviderKernels()._loads(node_of(("", "Relu", "bool", "bool")))
    assert not ProviderKernels()._loads(node_of(("", "Conv", "int64", "int64", "int64")))


def test_they_are_not_asked_for(monkeypatch):
    kernels = ProviderKernels()
    monkeypatch.setattr(kernels, "_loads", lambda node: False)
    assert kernels.has(node_of(("", "Add", "float32", "float32", "float32")))
    assert kernels.has(node_of(("", "Pad", "float32", "int64", None, "float32")))
    assert not kernels.has(node_of(("", "Add", "float64", "float64", "float64")))
    relu = OnnxNode("Relu", (Operand(FLOAT32),), (Operand(FLOAT32),), {}, "com.microsoft")
    assert not kernels.has(relu)


def test_another_provider_is_asked(monkeypatch):
    kernels = ProviderKernels([*ON_CPU, "another"])
    monkeypatch.setattr(kernels, "_loads", lambda node: False)
    assert not kernels.has(node_of(("", "Add", "float32", "float32", "float32")))
