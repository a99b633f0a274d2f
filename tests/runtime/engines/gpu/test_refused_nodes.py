import pytest

from tfport.graph.dtypes import DType
from tfport.runtime.engines.gpu.refused_nodes import is_refused
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


@pytest.mark.parametrize(
    ("op", "dtype", "refused"),
    [
        ("NonMaxSuppression", "float32", True),
        ("ReverseSequence", "float32", True),
        ("Softmax", "float64", True),
        ("Softmax", "float32", False),
        ("Conv", "float64", False),
    ],
)
def test_nodes_that_stay_on_the_host(op, dtype, refused):
    x = Operand(DType.parse(dtype), (2, 2))
    assert is_refused(OnnxNode(op, (x,), (x,), {})) is refused
