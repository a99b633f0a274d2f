"""cuDNN's convolutions, with a library that records its calls."""

import ctypes

import numpy as np
import pytest

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.gpu import cuda_libraries
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.fused_convolution import fused_convolutions

HANDLE, WORKSPACE, NOT_SUPPORTED = 5, 4096, 3000


class FakeLibrary:
    """Every function succeeds, but for `refused`; numbers of arguments are kept."""

    def __init__(self):
        self.calls, self.refused = [], ""

    def __getattr__(self, name):
        def function(*arguments):
            self.calls.append((name, [getattr(a, "value", a) for a in arguments]))
            if name == "cudnnGetConvolutionForwardWorkspaceSize":
                arguments[-1]._obj.value = WORKSPACE
            return NOT_SUPPORTED if name == self.refused else 0

        if name == "cudnnGetErrorString":
            return lambda code: b"CUDNN_STATUS_NOT_SUPPORTED"
        return function

    def last(self, name):
        return [arguments for called, arguments in self.calls if called == name][-1]


@pytest.fixture
def library(monkeypatch):
    fake = FakeLibrary()
    monkeypatch.setattr(cuda_libraries.ctypes, "CDLL", lambda name: fake)
    return fake


def convolution(dtype=FLOAT32, *, relu=True):
    b = Builder("test")
    x = Operand(dtype, (None, 4, 9, 7))
    weights = b.const(np.ones((8, 4, 3, 5)), dtype)
    attrs = {"strides": [2, 1], "pads": [1, 2, 1, 2], "dilations": [1, 1], "kernel_shape": [3, 5]}
    result = b.Conv(x, weights, **attrs)
    output = b.Relu(result) if relu else result
    (conv,) = fused_convolutions(b.added, [output])
    return conv


def test_sizes_and_numbers_of_a_convolution(library):
    prepared = cuda_libraries.Cudnn(77).prepared(convolution(), (2, 9, 7, 4), (2, 5, 7, 8))
    assert library.last("cudnnSetStream")[1] == 77
    tensors = [a[1:] for name, a in library.calls if name == "cudnnSetTensor4dDescriptor"]
    assert tensors == [[1, 0, 2, 4, 9, 7], [1, 0, 2, 8, 5, 7], [1, 0, 1, 8, 1, 1]]  # channels last, float
    assert library.last("cudnnSetFilter4dDescriptor")[1:] == [0, 1, 8, 4, 3, 5]
    assert library.last("cudnnSetConvolution2dDescriptor")[1:] == [1, 2, 2, 1, 1, 1, 1, 0]
    assert library.last("cudnnSetActivationDescriptor")[1:3] == [
        cuda_libraries.RELU,
        cuda_libraries.PROPAGATE_NAN,
    ]
    assert prepared.workspace == WORKSPACE


@pytest.mark.parametrize(
    ("dtype", "kind", "math"), [("float32", 0, 0), ("float16", 2, 1), ("bfloat16", 9, 1)]
)
def test_types(library, dtype, kind, math):
    cuda_libraries.Cudnn(0).prepared(convolution(DType.parse(dtype)), (2, 9, 7, 4), (2, 5, 7, 8))
    assert {a[2] for name, a in library.calls if name == "cudnnSetTensor4dDescriptor"} == {kind}
    assert library.last("cudnnSetFilter4dDescriptor")[1] == kind
    assert library.last("cudnnSetConvolutionMathType")[1] == math


def test_a_shortcut_is_added_and_none_is_not(library):
    prepared = cuda_libraries.Cudnn(0).prepared(convolution(), (2, 9, 7, 4), (2, 5, 7, 8))
    for shortcut, read in ((400, 400), (0, 500)):
        inputs = (100, shortcut) if shortcut else (100,)
        prepared.begin(inputs, (200, 300), (500,), 600)
        arguments = library.last("cudnnConvolutionBiasActivationForward")
        numbers = [a for a in arguments if isinstance(a, int) and a in range(100, 601, 100)]
        assert numbers == [100, 200, 600, read, 300, 500]
        assert ctypes.c_float.from_buffer(arguments[10]._obj).value == bool(shortcut)


def test_without_a_relu(library):
    cuda_libraries.Cudnn(0).prepared(convolution(relu=False), (2, 9, 7, 4), (2, 5, 7, 8))
    assert library.last("cudnnSetActivationDescriptor")[1] == cuda_libraries.IDENTITY


def test_what_cudnn_refuses_is_an_error(library):
    library.refused = "cudnnGetConvolutionForwardWorkspaceSize"
    with pytest.raises(Error, match="WorkspaceSize fails: CUDNN_STATUS_NOT_SUPPORTED"):
        cuda_libraries.Cudnn(0).prepared(convolution(), (2, 9, 7, 4), (2, 5, 7, 8))


def test_without_the_library():
    with pytest.raises(Error, match=r"libcudnn.so.9 does not load: "):
        cuda_libraries.Cudnn(0)
