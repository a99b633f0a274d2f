"""Ranks are known after nodes that run on the host because the engine does not have their types."""

import pytest
from tests.runtime.programs import session_of

START = """
    x = Placeholder() {dtype=complex64, shape=(?, 3)}
    names = Placeholder() {dtype=string, shape=(?, 3)}
    perm = Const() {dtype=int32, value=int32(2)[1, 0]}
"""
NODES = {
    "MatrixDiag": ("x", "y = MatrixDiag(x) {T=complex64}", (None, 3, 3)),
    "Einsum": ("x", 'y = Einsum(x, x) {N=2, T=complex64, equation="ij,kj->ik"}', (None, None)),
    "ConjugateTranspose": ("x", "y = ConjugateTranspose(x, perm) {T=complex64, Tperm=int32}", (3, None)),
    "Transpose": ("names", "y = Transpose(names, perm) {T=string, Tperm=int32}", (3, None)),
}


@pytest.mark.parametrize(("fed", "line", "expected"), NODES.values(), ids=NODES)
def test_the_rank_is_known(fed, line, expected):
    (step,) = session_of(START + line).program(["y:0"], [f"{fed}:0"]).steps
    assert step.lowered is None
    assert len(step.outputs[0].shape) == len(expected)
    assert all(size in (None, right) for size, right in zip(step.outputs[0].shape, expected, strict=True))
