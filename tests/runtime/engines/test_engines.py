"""Engines: they compute the same outputs, and say which nodes they support."""

import numpy as np
import pytest
from tests.recorded_models import load
from tests.runtime.programs import WatchedEngine, session_of

import tfport
from tfport.graph.dtypes import FLOAT32, STRING
from tfport.runtime.engines import onnx_runtime
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.engines.session_settings import session_options
from tfport.runtime.operand import Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import OnnxNode


@pytest.mark.parametrize("engine", ["onnxruntime", "auto", "none"])
def test_engines_compute_the_same_outputs(engine):
    call = tfport.Session(load("module"), engine=engine).signature("serving_default")
    np.testing.assert_allclose(call(x=[[1.0, 2.0]])["y"], [[6, 10, 14]])


PRELU_OF_A_SUM = """
    x = Placeholder() {dtype=float32, shape=(?, 4, 4, 3)}
    k = Const() {dtype=float32, value=float32(1, 1, 3, 3)[0.5, -1, 2, 1, 0.3, -0.7, 0.2, 1.5, -2]}
    c = Conv2D(x, k) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
    s = AddV2(c, x) {T=float32}
    slopes = Const() {dtype=float32, value=float32(3)[0.5, 0.25, 0.1]}
    above = Relu(s) {T=float32}
    minus = Neg(s) {T=float32}
    below = Relu(minus) {T=float32}
    scaled = Mul(slopes, below) {T=float32}
    y = Sub(above, scaled) {T=float32}
"""


def test_openvino_computes_slopes_after_a_sum():
    pytest.importorskip("openvino", reason="OpenVINO is optional")
    feeds = {"x:0": np.random.default_rng(0).normal(size=(2, 4, 4, 3)).astype(np.float32)}
    model = session_of(PRELU_OF_A_SUM).model
    ours, expected = (tfport.Session(model, engine=e).run("y:0", feeds) for e in ("openvino", "none"))
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


def test_an_unknown_engine_is_an_error():
    expected = "default, onnxruntime, openvino, openvino-bfloat16, litert, auto or none"
    with pytest.raises(tfport.Error, match=f"unknown engine `cuda`; expected {expected}"):
        tfport.Session(load("module"), engine="cuda")


@pytest.mark.parametrize(
    ("engine", "op", "dtype", "supported"),
    [
        ("onnxruntime", "Abs", FLOAT32, True),
        ("onnxruntime", "NoSuchOp", FLOAT32, False),
        ("onnxruntime", "Abs", STRING, False),
        ("none", "Abs", FLOAT32, False),
    ],
)
def test_an_engine_says_which_nodes_it_supports(engine, op, dtype, supported):
    node = OnnxNode(op, (Operand(dtype, (2,)),), (Operand(dtype, (2,)),), {})
    assert make_engine(engine, 1).takes(node) == supported


def test_without_an_engine_no_island_can_run():
    with pytest.raises(tfport.Error, match="no engine was selected"):
        make_engine("none").compile(b"", {}, [], [])


def test_sessions_do_not_plan_which_tensors_share_memory(monkeypatch):
    made = []

    def session(model, options, **others):
        made.append(options.enable_mem_reuse)
        return made_by_engine(model, options, **others)

    made_by_engine = onnx_runtime.ort.InferenceSession
    monkeypatch.setattr(onnx_runtime.ort, "InferenceSession", session)
    tfport.Session(load("module")).signature("serving_default")(x=[[1.0, 2.0]])
    assert made == [False]


def test_an_island_opens_only_the_sessions_that_it_needs(opened):
    """Whether a call is worth two threads depends on its batch."""
    session = session_of(PRODUCT, threads=2)
    assert opened == []
    session.run("y:0", {"x:0": np.zeros((1, 64), np.float32)})
    assert opened == [1]
    session.run("y:0", {"x:0": np.zeros((500, 64), np.float32)})
    session.run("y:0", {"x:0": np.zeros((1, 64), np.float32)})
    assert opened == [1, 2]


def test_the_first_call_may_need_two_threads(opened):
    session_of(PRODUCT, threads=2).run("y:0", {"x:0": np.zeros((500, 64), np.float32)})
    assert opened == [2]


def test_a_plan_that_is_made_in_advance_opens_a_session(opened):
    session = session_of(PRODUCT, threads=2)
    Plan(session.program(["y:0"], ["x:0"]), session.engine, in_advance=True)
    assert opened == [1]


PRODUCT = """
    x = Placeholder() {dtype=float32, shape=(?, 64)}
    y = MatMul(x, x) {T=float32, transpose_a=true, transpose_b=false}
"""


@pytest.fixture
def opened(monkeypatch):
    """The threads of the sessions that islands open, in order."""
    threads = []

    def session(model, options, *others):
        threads.append(options.intra_op_num_threads)
        return made_by_engine(model, options, *others)

    made_by_engine = onnx_runtime._session
    monkeypatch.setattr(onnx_runtime, "_session", session)
    return threads


@pytest.mark.parametrize(
    ("middle", "alone"),
    [("Neg(y) {T=float32}", [True]), ("MatrixInverse(y) {T=float32, adjoint=false}", [False, False])],
)
def test_an_engine_is_told_which_islands_are_alone(middle, alone):
    session = session_of(f"""
        x = Placeholder() {{dtype=float32, shape=(?, 4)}}
        y = MatMul(x, x) {{T=float32, transpose_a=true, transpose_b=false}}
        middle = {middle}
        z = MatMul(y, middle) {{T=float32, transpose_a=false, transpose_b=false}}
    """)
    engine = WatchedEngine(session.engine)
    Plan(session.program(["z:0"], ["x:0"]), engine)
    assert [hints.alone for hints in engine.hints] == alone


def test_islands_of_loop_bodies_are_not_alone():
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(?, 4)}
        y = MatMul(x, x) {T=float32, transpose_a=true, transpose_b=false}
    """)
    engine = WatchedEngine(session.engine)
    Plan(session.program(["y:0"], ["x:0"]), engine, repeated=True)
    assert [hints.alone for hints in engine.hints] == [False]


@pytest.mark.parametrize(("spins", "entries"), [(True, ("50", None)), (False, (None, "0"))])
def test_idle_threads_spin_for_a_moment_at_most(spins, entries):
    options = session_options(2, spins)
    keys = ("session.intra_op.spin_duration_us", "session.intra_op.allow_spinning")
    assert tuple(entry_of(options, key) for key in keys) == entries


def entry_of(options, key):
    try:
        return options.get_session_config_entry(key)
    except RuntimeError:  # not set
        return None
