"""cuBLASLt's products, with a library that records its calls."""

import ctypes

import numpy as np
import pytest
from tests.runtime.passes.islands.test_attention_bias import attention
from tests.runtime.passes.rewritten import rewritten

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.gpu import cuda_libraries
from tfport.runtime.engines.gpu.graph_stream import HostGraphStream
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.attention_bias import added_attention_bias
from tfport.runtime.passes.islands.fused_product import fused_products

NOT_SUPPORTED = 15
ROWS, COLUMNS, POSITIONS = 16, 8, 10


class FakeLibrary:
    """Every function succeeds, but for `refused`; it offers algorithms with these workspaces."""

    def __init__(self):
        self.calls, self.refused, self.workspaces = [], "", [64, 256, 0]

    def __getattr__(self, name):
        def function(*arguments):
            self.calls.append((name, [getattr(a, "value", a) for a in arguments]))
            if name == "cublasLtMatmulAlgoGetHeuristic":
                self._offer(arguments[-2]._obj, arguments[-1]._obj)
            return NOT_SUPPORTED if name == self.refused else 0

        if name == "cublasLtGetStatusName":
            return lambda code: b"CUBLAS_STATUS_NOT_SUPPORTED"
        return function

    def _offer(self, found, count):
        count.value = len(self.workspaces)
        for place, workspace in enumerate(self.workspaces):
            found[place].data[0], found[place].workspace = place + 1, workspace

    def attributes(self, function):
        """The attributes that were set, and their values."""
        return [(a[1], a[2]._obj.value) for name, a in self.calls if name == function]

    def launched(self):
        """The numbers of the algorithms of all products."""
        return [a[12]._obj[0] for name, a in self.calls if name == "cublasLtMatmul"]


class FakeStream(HostGraphStream):
    address = 77

    def __init__(self):
        self.recorded = 0

    def record(self, run):
        self.recorded += 1
        run()
        return lambda: None


@pytest.fixture
def library(monkeypatch):
    fake = FakeLibrary()
    monkeypatch.setattr(cuda_libraries.ctypes, "CDLL", lambda name: fake)
    return fake


@pytest.fixture
def clock(monkeypatch):
    """Each algorithm takes the next of these times, in each turn."""
    times = []
    turns = cuda_libraries.TURNS + 1
    moments = iter(moment for took in times for moment in [0.0, took] * turns)
    monkeypatch.setattr(cuda_libraries.time, "perf_counter", lambda: next(moments))
    return times


def product(dtype=FLOAT32, *, relu=False):
    b = Builder("test")
    x = Operand(dtype, (None, ROWS))
    result = b.MatMul(x, b.const(np.ones((ROWS, COLUMNS)), dtype))
    output = b.Relu(result) if relu else result
    (made,) = fused_products(b.added, [output])
    return made


def test_matrices_are_given_by_columns(library):
    prepared = cuda_libraries.CublasLt(FakeStream()).prepared(product(), (5, 2, ROWS))
    sizes = [a[1:] for name, a in library.calls if name == "cublasLtMatrixLayoutCreate"]
    weights, x, output = (
        [0, ROWS, COLUMNS, ROWS],
        [0, ROWS, POSITIONS, ROWS],
        [0, COLUMNS, POSITIONS, COLUMNS],
    )
    assert sizes == [weights, x, output]
    assert library.attributes("cublasLtMatmulDescSetAttribute") == [
        (cuda_libraries.TRANSPOSE_A, 1),
        (cuda_libraries.EPILOGUE, cuda_libraries.WITH_BIAS),
        (cuda_libraries.BIAS_STRIDE, 0),
    ]
    assert prepared.workspace == 256  # the largest of the algorithms


@pytest.mark.parametrize(
    ("dtype", "kind", "compute"),
    [
        ("float32", 0, cuda_libraries.TF32),
        ("float16", 2, cuda_libraries.FULL_FLOAT32),
        ("bfloat16", 14, cuda_libraries.FULL_FLOAT32),
    ],
)
def test_types(library, dtype, kind, compute):
    cuda_libraries.CublasLt(FakeStream()).prepared(product(DType.parse(dtype), relu=True), (1, ROWS))
    assert [a[1:] for name, a in library.calls if name == "cublasLtMatmulDescCreate"] == [[compute, 0]]
    assert {a[1] for name, a in library.calls if name == "cublasLtMatrixLayoutCreate"} == {kind}
    assert (cuda_libraries.EPILOGUE, cuda_libraries.WITH_BIAS_AND_RELU) in library.attributes(
        "cublasLtMatmulDescSetAttribute"
    )


def test_queries_keys_and_values_read_the_same_matrix(library):
    nodes, output = attention()
    (three,) = fused_products(rewritten(added_attention_bias, nodes), [output])
    cuda_libraries.CublasLt(FakeStream()).prepared(three, (2, 5, 8))
    assert library.attributes("cublasLtMatrixLayoutSetAttribute") == [
        (cuda_libraries.COUNT, 3), (cuda_libraries.STRIDE, 64),
        (cuda_libraries.COUNT, 3), (cuda_libraries.STRIDE, 0),
        (cuda_libraries.COUNT, 3), (cuda_libraries.STRIDE, 80),
    ]  # fmt: skip
    assert (cuda_libraries.BIAS_STRIDE, 8) in library.attributes("cublasLtMatmulDescSetAttribute")


def test_addresses(library, clock):
    clock += [1.0] * 3
    prepared = cuda_libraries.CublasLt(FakeStream()).prepared(product(), (1, ROWS))
    prepared.begin([100], [200, 300], [400], 500)
    *_, (_, arguments) = [call for call in library.calls if call[0] == "cublasLtMatmul"]
    numbers = [a for a in arguments if isinstance(a, int) and a in range(100, 501, 100)]
    assert numbers == [200, 100, 400, 400, 500]
    assert arguments[-1] == 77
    assert library.attributes("cublasLtMatmulDescSetAttribute")[-1] == (cuda_libraries.BIAS, 300)


@pytest.mark.parametrize(
    ("times", "chosen"), [([3.0, 1.0, 2.0], 2), ([1.0, 0.99, 1.0], 1), ([2.0, 2.0, 1.5], 3)]
)
def test_the_fastest_algorithm_is_used_if_it_is_much_faster(library, clock, times, chosen):
    clock += times
    stream = FakeStream()
    lt = cuda_libraries.CublasLt(stream)
    for _ in range(2):  # another product of the same sizes needs no trial
        prepared = lt.prepared(product(), (1, ROWS))
        library.calls.clear()
        for _ in range(2):
            prepared.begin([0], [0, 0], [0], 0)
        assert library.launched()[-2:] == [chosen, chosen]
    assert library.launched() == [chosen, chosen]
    assert stream.recorded == 3


@pytest.mark.parametrize("workspaces", [[], [64]])
def test_without_an_algorithm_there_is_an_error(library, workspaces):
    library.workspaces = workspaces
    lt = cuda_libraries.CublasLt(FakeStream())
    if workspaces:
        library.refused = "cublasLtMatmulAlgoGetHeuristic"
    sentence = "CUBLAS_STATUS_NOT_SUPPORTED" if workspaces else "cuBLASLt has no kernel"
    with pytest.raises(Error, match=sentence):
        lt.prepared(product(), (1, ROWS))


def test_a_library_that_is_missing(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(cuda_libraries.ctypes, "CDLL", missing)
    with pytest.raises(Error, match=r"libcublasLt.so, is not installed"):
        cuda_libraries.CublasLt(FakeStream())


def test_the_result_of_the_search_has_the_size_that_cublaslt_writes():
    assert ctypes.sizeof(cuda_libraries._Algorithm) == 96
