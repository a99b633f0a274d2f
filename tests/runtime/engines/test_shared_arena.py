"""The arena that sessions share: what it returns, and limits beside each other."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.engines.shared_arena import SMALL_RUNS, WORTHWHILE, KeptMemory
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


def _kept_after(session: tfport.Session, counts: list[int]) -> list[int]:
    """The memory after a run of so many numbers each, beyond that of the first."""
    kept = []
    for count in counts:
        session.run("y:0", {"x:0": MANY[:count]})
        kept.append(resident_bytes())
    return [memory - kept[0] for memory in kept]


def test_a_session_keeps_memory_only_for_runs_that_are_repeated():
    session = opened(OnnxRuntime(1))
    session.run("y:0", {"x:0": MANY[:10]})
    _, once, few, again = _kept_after(session, [10, MANY.size, 10, MANY.size])
    assert once < MANY.nbytes // 4
    assert few < MANY.nbytes // 4
    assert again > MANY.nbytes // 2  # for the next batch
    *soon, late = _kept_after(session, [10] * (SMALL_RUNS + 1))
    assert max(soon[: SMALL_RUNS - 2]) > -MANY.nbytes // 4
    assert late < -MANY.nbytes // 2


def test_a_run_that_can_be_stopped_returns_memory_too():
    session = opened(OnnxRuntime(1))
    session.run("y:0", {"x:0": MANY[:10]})
    before = resident_bytes()
    session.run("y:0", {"x:0": MANY}, timeout=60)
    assert resident_bytes() < before + MANY.nbytes // 4


def test_growing_inputs_return_memory_for_each_step_in_growth():
    memory = KeptMemory()
    sizes = [2, 2, 2.5, 4, 4, 4]
    returned = [memory.is_returned_after([np.zeros(int(size * WORTHWHILE), np.uint8)]) for size in sizes]
    assert returned == [True, False, False, True, False, False]
