"""The arena that sessions share: what it returns, and limits beside each other."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.freed_memory import return_freed_memory
from tfport.serve.unused_memory import resident_bytes

CHAIN = """
    x = Placeholder() {dtype=float32, shape=(?)}
    a = Exp(x) {T=float32}
    b = Neg(a) {T=float32}
    c = Exp(b) {T=float32}
    axis = Const() {dtype=int32, value=int32()[0]}
    y = Max(c, axis) {T=float32}
"""
MANY = np.zeros(1 << 24, np.float32)
"""64 MB."""


def opened(engine: OnnxRuntime) -> tfport.Session:
    model = session_of(CHAIN).model
    return tfport.Session(model, engine=engine)


def test_a_shared_arena_returns_what_no_run_uses():
    session = opened(OnnxRuntime(1, shares_arena=True))
    session.run("y:0", {"x:0": MANY[:10]})
    return_freed_memory()
    before = resident_bytes()
    session.run("y:0", {"x:0": MANY})
    assert resident_bytes() > before + MANY.nbytes // 2  # it is kept for the next run
    return_freed_memory()
    assert resident_bytes() < before + MANY.nbytes // 4


def test_two_sessions_use_the_same_memory():
    first, second = (opened(OnnxRuntime(1, shares_arena=True)) for _ in range(2))
    for session in (first, second):
        session.run("y:0", {"x:0": MANY[:10]})
    return_freed_memory()
    first.run("y:0", {"x:0": MANY})
    after_first = resident_bytes()
    second.run("y:0", {"x:0": MANY})
    assert resident_bytes() < after_first + MANY.nbytes // 4
    return_freed_memory()


@pytest.mark.parametrize("limit", [MANY.nbytes // 4, MANY.nbytes // 2])
def test_a_limit_holds_beside_sessions_without_one(limit):
    free, limited, free_too = (
        opened(OnnxRuntime(1, shares_arena=True, max_bytes=most)) for most in (0, limit, 0)
    )
    few = MANY[: limit // 16]
    for session in (free, limited, free_too):
        assert session.run("y:0", {"x:0": few}) == pytest.approx(1 / np.e)
    for session in (free, free_too):
        assert session.run("y:0", {"x:0": MANY}) == pytest.approx(1 / np.e)
    with pytest.raises(tfport.ResourceExhausted, match="the engine cannot allocate"):
        limited.run("y:0", {"x:0": MANY})
    return_freed_memory()
