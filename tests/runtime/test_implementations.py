"""What a tracer finds of an op."""

import pytest

from tfport.graph.dtypes import BOOL, FLOAT32, STRING
from tfport.runtime.custom.registry import Registry
from tfport.runtime.implementations import BUILT_IN, TracedOp


@pytest.mark.parametrize("op", ["Cast", "Equal", "MatMul", "Qr", "StringLower"])
@pytest.mark.parametrize("dtype", [FLOAT32, STRING, BOOL])
def test_the_kernel_is_that_of_the_implementations(op, dtype):
    attrs = {"T": dtype, "SrcT": dtype, "DstT": dtype}
    assert TracedOp.of(op, BUILT_IN).kernel_for(attrs) is BUILT_IN.kernel_for(op, attrs)


def test_only_a_custom_op_has_a_signature_of_its_own():
    registry = Registry()
    registry.op("TracedTwice: (x: T) -> y: T; T: {float, double}")
    custom = TracedOp.of("TracedTwice", registry)
    assert custom.custom_signature is not None
    assert [arg.name for arg in custom.custom_signature.inputs] == ["x"]
    assert TracedOp.of("MatMul", registry).custom_signature is None


def test_a_structure_is_found():
    assert TracedOp.of("Const", BUILT_IN).structure is not None
    assert TracedOp.of("MatMul", BUILT_IN).structure is None
