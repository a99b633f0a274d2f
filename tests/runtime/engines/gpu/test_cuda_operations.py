"""Which library computes an operation."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.gpu import cuda_operations
from tfport.runtime.engines.gpu.graph_stream import HostGraphStream
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.fused_convolution import fused_convolutions
from tfport.runtime.passes.islands.fused_product import fused_products


class Library:
    """Keeps what it was made with, and what it is asked for."""

    def __init__(self, stream):
        self.stream = stream

    def prepared(self, operation, *shapes):
        return self, operation, shapes


@pytest.fixture
def operations(monkeypatch):
    for name in ("Cudnn", "CublasLt"):
        monkeypatch.setattr(cuda_operations, name, type(name, (Library,), {}))
    return cuda_operations.CudaOperations(HostGraphStream())


def test_convolutions_and_products(operations):
    b = Builder("test")
    weights = b.const(np.ones((8, 8, 1, 1)), FLOAT32)
    (conv,) = fused_convolutions(b.added, [b.Conv(Operand(FLOAT32, (None, 8, 4, 4)), weights)])
    (product,) = fused_products(
        b.added, [b.MatMul(Operand(FLOAT32, (None, 8)), b.const(np.ones((8, 8)), FLOAT32))]
    )
    sizes = (1, 4, 4, 8)
    library, operation, shapes = operations.prepared(conv, sizes, sizes)
    assert (type(library).__name__, operation, shapes) == ("Cudnn", conv, (sizes, sizes))
    library, operation, shapes = operations.prepared(product, (3, 8), (3, 8))
    assert (type(library).__name__, operation, shapes) == ("CublasLt", product, ((3, 8),))
    assert operations.prepared(product, (3, 8), (3, 8))[0] is library  # loaded once
