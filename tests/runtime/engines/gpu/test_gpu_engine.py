"""The engine of a GPU, with the CPU in its place: what stays on the device, and the same answers."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.recorded_models import load
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu, session_on_cpu
from tests.runtime.programs import session_of

import tfport
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.gpu_engine import GpuEngine, GpuFailed
from tfport.runtime.engines.gpu.gpu_island import GpuIsland
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.runtime.engines.gpu.in_place import in_place, is_in_place
from tfport.runtime.engines.onnx_runtime import run_error
from tfport.runtime.passes.pass_list import IslandForm
from tfport.runtime.profile.profile import profile_calls

TWO_ISLANDS = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    a = Exp(x) {T=float32}
    b = Sqrt(a) {T=float32}
    c = Tanh(b) {T=float32}
    text = AsString(c) {T=float32, precision=-1, scientific=false, shortest=false, width=-1, fill=""}
    number = StringToNumber(text) {out_type=float32}
    d = Mul(number, c) {T=float32}
    e = Exp(d) {T=float32}
    f = Tanh(e) {T=float32}
"""
EMBEDDING = """
    ids = Placeholder() {dtype=int32, shape=(?, ?)}
    table = Const() {dtype=float32, value=float32(3, 2)[0, 1, 2, 3, 4, 5]}
    axis = Const() {dtype=int32, value=int32()[0]}
    rows = GatherV2(table, ids, axis) {Taxis=int32, Tindices=int32, Tparams=float32, batch_dims=0}
    y = Exp(rows) {T=float32}
"""

NEGATIVE_SIZE = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Tanh node. "
    "Name:'Tanh:c#2' Status Message: /onnxruntime/core/framework/bfc_arena.cc:376 "
    "onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory "
    "for requested buffer of size 13583849183701482496"
)


@pytest.fixture
def copies(monkeypatch):
    """The shapes of the tensors that were copied to the host."""
    shapes: list[tuple[int, ...]] = []
    numpy = DeviceArray.numpy
    monkeypatch.setattr(DeviceArray, "numpy", lambda self: shapes.append(self.shape) or numpy(self))
    return shapes


def test_a_profile_does_not_wait_for_the_whole_device(monkeypatch):
    def synchronize(binding):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(ort.IOBinding, "synchronize_outputs", synchronize)
    x = np.ones((2, 4), np.float32)
    profile = profile_calls(
        lambda: session_of(TWO_ISLANDS, engine=engine_on_cpu()),
        lambda session: session.run("f:0", {"x:0": x}),
        seconds=0,
    )
    assert [island.calls for island in profile.islands] == [1, 1]


def test_nothing_is_captured_while_kernels_are_looked_for(monkeypatch):
    engine, runs = engine_on_cpu(), []
    monkeypatch.setattr(engine._kernels, "has", lambda node: runs.append(GPU_LOCK._running))
    engine.has_kernel(None)
    assert runs == [1]


def test_host_steps_copy_only_what_they_read(copies):
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    (expected,) = session_of(TWO_ISLANDS).run(["f:0"], {"x:0": x})
    (actual,) = session_of(TWO_ISLANDS, engine=engine_on_cpu()).run(["f:0"], {"x:0": x})
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    assert type(actual) is np.ndarray
    assert copies == [(2, 4), (2, 4)]  # `c` for AsString, and the result; Mul reads `c` where it is


def test_results_stay_on_the_device_until_they_are_read(copies):
    x = np.ones((3, 4), np.float32)
    session = session_of(TWO_ISLANDS, engine=engine_on_cpu())
    (first,) = session.run(["c:0"], {"x:0": x}, on_device=True)
    assert type(first) is DeviceArray
    (second,) = session.run(["c:0"], {"x:0": first}, on_device=True)
    assert copies == []
    np.testing.assert_allclose(np.asarray(second), np.tanh(np.sqrt(np.exp(np.asarray(first)))), rtol=1e-6)


def test_bound_signatures_take_and_return_device_tensors():
    session = session_on_cpu(load("keras_functional"))
    (name,) = [name for name in session.model.signatures if name.startswith("serving")]
    inputs = {
        key: np.full([size or 2 for size in spec.shape.dims], 0.5, spec.dtype.numpy)
        for key, spec in session.model.signatures[name].inputs.items()
    }
    expected = session.signature(name)(**inputs)
    actual = session.bind(name)(**inputs)
    again = session.bind(name, in_place=True)(**inputs)
    for key, value in actual.items():
        assert type(value) is DeviceArray
        np.testing.assert_array_equal(np.from_dlpack(value), expected[key])
        np.testing.assert_array_equal(again[key], expected[key])
    with pytest.raises(tfport.Error, match="no signature `other`"):
        session.bind("other")


def test_an_index_out_of_range_is_the_same_error_as_on_the_cpu():
    ids = np.array([[0, 2], [3, 1]], np.int32)
    messages = []
    for session in (session_of(EMBEDDING), session_of(EMBEDDING, engine=engine_on_cpu())):
        with pytest.raises(tfport.Error) as caught:
            session.run(["y:0"], {"ids:0": ids})
        messages.append(str(caught.value))
        assert session.run("y:0", {"ids:0": ids[:1]}).shape == (1, 2, 2)
    assert messages[0] == messages[1]


def test_empty_inputs_are_computed_on_the_cpu(monkeypatch):
    ran = []
    monkeypatch.setattr(GpuIsland, "run", lambda *arguments: ran.append("gpu"))
    empty = np.zeros((0, 4), np.float32)
    assert session_of(TWO_ISLANDS, engine=engine_on_cpu()).run("f:0", {"x:0": empty}).shape == (0, 4)
    assert ran == []


def test_what_fails_on_the_gpu_is_computed_by_the_engine_on_the_cpu(monkeypatch):
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    expected = session_of(TWO_ISLANDS).run("f:0", {"x:0": x})

    def fails(*arguments):
        raise run_error(RuntimeError(NEGATIVE_SIZE), "the GPU")

    monkeypatch.setattr(GpuIsland, "run", fails)
    session = session_of(TWO_ISLANDS, engine=engine_on_cpu())
    with pytest.warns(GpuFailed, match=r"^cpu: `c` \(Tanh\): .*; the CPU computes this part$") as said:
        actual = [session.run("f:0", {"x:0": x}) for _ in range(3)]
    np.testing.assert_allclose(actual, [expected] * 3, rtol=1e-6)
    assert len(said) == 2  # once for each island


@pytest.mark.parametrize(("precision", "tolerance"), [("tf32", 1e-6), ("float32", 1e-6), ("float16", 2e-3)])
@pytest.mark.parametrize("name", ["keras_functional", "keras_sequential", "keras_lstm"])
def test_precision(name, precision, tolerance):
    model = load(name)
    (chosen,) = [key for key in model.signatures if key.startswith("serving")]
    random = np.random.default_rng(0)
    inputs = {
        key: random.uniform(-1, 1, [size or 2 for size in spec.shape.dims]).astype(spec.dtype.numpy)
        for key, spec in model.signatures[chosen].inputs.items()
    }
    expected = tfport.Session(model).signature(chosen)(**inputs)
    actual = session_on_cpu(model, precision=precision).signature(chosen)(**inputs)
    for key, value in expected.items():
        assert actual[key].dtype == value.dtype
        np.testing.assert_allclose(actual[key], value, rtol=tolerance, atol=tolerance)


def test_an_engine_says_where_it_computes():
    assert engine_on_cpu().name == "ONNX Runtime on cpu"
    assert str(parse_device("gpu")) == "cuda:0"


def test_tensorrt_gets_the_nodes_and_types_of_the_model():
    options = GpuOptions(precision="float16")
    assert GpuEngine(parse_device("tensorrt"), options).form == IslandForm(for_cpu=False)
    form = IslandForm(False, "float16", True, True, separates_attention=True, fuses_in_parts=True)
    assert GpuEngine(parse_device("cuda"), options).form == form
    full = IslandForm(False, None, True, True)  # cuDNN would compute in TF32
    assert GpuEngine(parse_device("cuda"), GpuOptions(precision="float32")).form == full


def test_a_gpu_that_cannot_be_used_is_a_warning_or_an_error(monkeypatch):
    from tfport.runtime.engines.gpu import availability
    from tfport.runtime.engines.make_engine import NoGpu

    monkeypatch.setattr(availability, "problem_of", lambda device: "the reason")
    with pytest.warns(NoGpu, match=r"^device cuda:1: the reason; the CPU is used$"):
        session = session_of(TWO_ISLANDS, device="cuda:1")
    assert session.engine.name == "ONNX Runtime"
    with pytest.raises(tfport.Error, match=r"^device cuda: the reason$"):
        session_of(TWO_ISLANDS, device="cuda", gpu=GpuOptions(require=True))
    assert session_of(TWO_ISLANDS, device="auto").engine.name == "ONNX Runtime"


def test_calls_in_place_have_the_same_answers_with_one_island_and_with_several():
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    for fetch in ("c:0", "f:0"):
        session = session_of(TWO_ISLANDS, engine=engine_on_cpu())
        for value in range(4):
            (expected,) = session_of(TWO_ISLANDS).run([fetch], {"x:0": x * value})
            with in_place(True):
                (actual,) = session.run([fetch], {"x:0": x * value}, on_device=True)
            np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-6)
        assert not is_in_place()
