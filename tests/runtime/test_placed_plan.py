"""Which device `auto` uses: measured once for similar sizes, remembered, and effects happen once."""

import threading
from itertools import cycle

import numpy as np
import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.runtime.programs import session_of

from tfport.errors import Error, ResourceExhausted
from tfport.runtime import placed_plan
from tfport.runtime.engines.choice_cache import CPU, GPU, TENSORRT, ChoiceCache
from tfport.runtime.engines.engine import Rival
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.gpu_engine import GpuEngine
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.placed_plan import CALLS_BEFORE, PlacedPlan, similar_sizes
from tfport.runtime.plan import Plan

NETWORK = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    a = Exp(x) {T=float32}
    b = Sqrt(a) {T=float32}
    c = Tanh(b) {T=float32}
    y = Exp(c) {T=float32}
"""
COUNTER = """
    x = Placeholder() {dtype=float32, shape=(?, 4)}
    v = VariableV2() {dtype=float32, shape=(), container="", shared_name=""}
    zero = Const() {dtype=float32, value=float32()[0]}
    init = Assign(v, zero) {T=float32, use_locking=true, validate_shape=true}
    one = Const() {dtype=float32, value=float32()[1]}
    y = AssignAdd(v, one) {T=float32, use_locking=false}
"""


class Watched:
    """A session on `auto` whose devices take certain times, and what was made and measured for it."""

    def __init__(
        self,
        monkeypatch,
        folder,
        *,
        cpu: float,
        gpu: float,
        tensorrt: float | None = None,
        text: str = NETWORK,
        **options,
    ) -> None:
        self.measured: list[tuple[int, ...]] = []
        self.plans: list[str] = []
        real = PlacedPlan.__init__
        pairs = cycle([(gpu, cpu)] if tensorrt is None else [(gpu, cpu), (tensorrt, min(gpu, cpu))])

        def init(plan, program, made_for, rival):
            def watched(device: str) -> Plan:
                self.plans.append(device)
                return made_for(device)

            def times(first, second, inputs):
                self.measured.append(inputs[0].shape)
                first(inputs)
                second(inputs)
                return next(pairs)

            real(plan, program, watched, rival, times)

        monkeypatch.setattr(PlacedPlan, "__init__", init)
        engine = engine_on_cpu()
        if tensorrt is not None:
            options["tensorrt"] = engine_on_cpu()
        engine.rival = Rival(OnnxRuntime(1), ChoiceCache(folder), ("a GPU",), **options)
        self.session = session_of(text, engine=engine)

    def run(self, rows: int, calls: int = 1) -> None:
        x = np.ones((rows, 4), np.float32)
        for _ in range(calls):
            answer = self.session.run("y:0", {"x:0": x})
            assert type(answer) is np.ndarray
            np.testing.assert_allclose(answer, np.exp(np.tanh(np.sqrt(np.exp(x)))), rtol=1e-6)

    def settle(self, rows: int) -> None:
        """Run until the devices are measured, and wait for that."""
        self.run(rows, CALLS_BEFORE)
        self.wait()

    def wait(self) -> None:
        if self.plan.race is not None:
            self.plan.race.join()

    @property
    def plan(self) -> PlacedPlan:
        (plan,) = self.session.plans.plans
        assert isinstance(plan, PlacedPlan)
        return plan


@pytest.mark.parametrize(("cpu", "gpu", "device"), [(1, 2, CPU), (2, 1, GPU), (1, 0.97, CPU), (1, 0.9, GPU)])
def test_the_faster_device_is_chosen_once(monkeypatch, tmp_path, cpu, gpu, device):
    watched = Watched(monkeypatch, tmp_path, cpu=cpu, gpu=gpu)
    watched.run(8, CALLS_BEFORE - 1)
    assert watched.plan.race is None
    assert watched.plans == [CPU]
    watched.run(8)
    watched.wait()
    watched.run(8, 5)
    watched.run(7, 5)
    assert watched.measured == [(8, 4)]
    assert watched.plans == [CPU, GPU]
    assert watched.plan.device == device
    assert list(watched.plan._plans) == [device]


def test_other_sizes_are_measured_again(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=1, gpu=2)
    watched.settle(1)
    watched.settle(64)
    assert watched.measured == [(1, 4), (64, 4)]


@pytest.mark.parametrize(("cpu", "gpu", "device"), [(1, 2, CPU), (2, 1, GPU)])
def test_the_next_process_uses_the_choice_at_once(monkeypatch, tmp_path, cpu, gpu, device):
    Watched(monkeypatch, tmp_path, cpu=cpu, gpu=gpu).settle(8)
    monkeypatch.undo()
    again = Watched(monkeypatch, tmp_path, cpu=cpu, gpu=gpu)
    again.run(8, CALLS_BEFORE + 2)
    assert again.plan.race is None
    assert again.plans == [device]


def test_calls_are_answered_while_the_devices_are_measured(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=2, gpu=1)
    compiled, may_end = GpuEngine.compile, threading.Event()

    def waits(*arguments):
        assert may_end.wait(60)
        return compiled(*arguments)

    monkeypatch.setattr(GpuEngine, "compile", waits)
    watched.run(8, CALLS_BEFORE + 5)
    watched.run(3, CALLS_BEFORE + 5)  # other sizes wait for their turn, not their calls
    assert watched.plan.device == CPU
    may_end.set()
    watched.wait()
    assert watched.measured == [(8, 4)]
    assert watched.plan.device == GPU


def test_a_race_reads_inputs_that_nobody_changes(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=2, gpu=1)
    compiled, may_end, read = GpuEngine.compile, threading.Event(), []
    monkeypatch.setattr(GpuEngine, "compile", lambda *a: may_end.wait(60) and compiled(*a))
    watched.run(8, CALLS_BEFORE - 1)
    monkeypatch.setattr(
        watched.plan, "_times", lambda gpu, cpu, inputs: read.append(inputs[0][0, 0]) or (1, 2)
    )
    x = np.ones((8, 4), np.float32)
    watched.session.run("y:0", {"x:0": x})
    x[:] = 7
    may_end.set()
    watched.wait()
    assert read == [1]


def test_effects_happen_once(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=1, gpu=2, text=COUNTER)
    watched.session.run("init")
    x = np.ones((1, 4), np.float32)
    answers = [watched.session.run("y:0", {"x:0": x}) for _ in range(CALLS_BEFORE + 3)]
    assert [float(answer) for answer in answers] == [*range(1, CALLS_BEFORE + 4)]
    assert watched.measured == []
    assert GPU in watched.plans


def test_tensors_of_the_device_stay_there(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=1, gpu=2)
    watched.settle(8)
    (first,) = watched.session.run(["y:0"], {"x:0": np.ones((8, 4), np.float32)}, on_device=True)
    assert type(first) is DeviceArray
    assert watched.plans == [CPU, GPU, GPU]


@pytest.mark.parametrize("required", [False, True])
def test_a_model_that_does_not_fit_runs_on_the_cpu_unless_a_gpu_is_required(monkeypatch, tmp_path, required):
    watched = Watched(monkeypatch, tmp_path, cpu=2, gpu=1, required=required)
    monkeypatch.setattr(type(watched.session.engine), "compile", _too_large)
    if required:
        with pytest.raises(ResourceExhausted):
            watched.run(8)
    else:
        watched.settle(8)
        watched.run(8, 3)
        assert watched.plans == [CPU, GPU]
        assert watched.measured == []
        assert watched.plan.device == CPU


def test_a_device_that_fails_is_not_chosen(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=2, gpu=1)
    monkeypatch.setattr(GpuEngine, "compile", _fails)
    watched.settle(8)
    watched.run(8, 3)
    assert watched.plan.device == CPU
    assert watched.plans == [CPU, GPU]


def test_a_race_ends_with_the_process(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=2, gpu=1)
    monkeypatch.setattr(placed_plan.threading, "main_thread", lambda: threading.Thread())
    watched.settle(8)
    assert watched.plan.device == CPU
    assert ChoiceCache(tmp_path).get(f"{watched.plan._key}:") is None


@pytest.mark.parametrize(
    ("cpu", "gpu", "tensorrt", "device"),
    [(1, 2, 3, CPU), (3, 1, 2, GPU), (3, 2, 1, TENSORRT), (2, 3, 1, TENSORRT)],
)
def test_tensorrt_is_measured_against_the_faster_device(monkeypatch, tmp_path, cpu, gpu, tensorrt, device):
    watched = Watched(monkeypatch, tmp_path, cpu=cpu, gpu=gpu, tensorrt=tensorrt)
    watched.settle(8)
    watched.run(8, 3)
    assert watched.measured == [(8, 4), (8, 4)]
    assert watched.plans == [CPU, GPU, TENSORRT]
    assert list(watched.plan._plans) == [device]
    monkeypatch.undo()
    again = Watched(monkeypatch, tmp_path, cpu=cpu, gpu=gpu, tensorrt=tensorrt)
    again.run(8, CALLS_BEFORE + 1)
    assert again.plans == [device]


def test_without_tensorrt_its_choice_is_not_used(monkeypatch, tmp_path):
    Watched(monkeypatch, tmp_path, cpu=3, gpu=2, tensorrt=1).settle(8)
    monkeypatch.undo()
    again = Watched(monkeypatch, tmp_path, cpu=3, gpu=2)
    again.settle(8)
    assert again.plan.device == GPU


def test_a_tensorrt_that_fails_is_not_chosen(monkeypatch, tmp_path):
    watched = Watched(monkeypatch, tmp_path, cpu=2, gpu=1, tensorrt=0.5)
    monkeypatch.setattr(watched.session.engine.rival.tensorrt, "compile", _fails)
    watched.settle(8)
    watched.run(8, 3)
    assert watched.measured == [(8, 4)]
    assert watched.plan.device == GPU


def test_a_clear_difference_needs_few_runs(monkeypatch):
    runs = []
    clock = iter(range(1, 1000))
    monkeypatch.setattr(placed_plan.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(placed_plan, "usual_times", lambda *arguments: (7.0, 8.0))

    def slow(inputs):
        runs.append("slow")
        for _ in range(10):
            next(clock)

    def fast(inputs):
        runs.append("fast")

    assert placed_plan.quick_times(slow, fast, []) == (11, 1)
    assert runs == ["slow", "slow", "fast", "fast"]
    assert placed_plan.quick_times(fast, fast, []) == (7, 8)


def test_the_usual_time_decides_not_the_best(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(placed_plan.time, "perf_counter", lambda: now[0])

    def run(seconds):
        def one(inputs):
            now[0] += next(seconds)

        return one

    mostly_slow, steady = run(cycle([0.005, 0.02, 0.02])), run(cycle([0.01]))
    assert placed_plan.quick_times(mostly_slow, steady, []) == pytest.approx((0.02, 0.01))


def test_turns_of_short_calls_are_long_enough_to_settle(monkeypatch):
    """The first calls of a turn take longer: what the other device left in the caches."""
    now, turn = [0.0], []
    monkeypatch.setattr(placed_plan.time, "perf_counter", lambda: now[0])

    def run(first, then, name):
        def one(inputs):
            turn.append(name)
            recent = turn[-12:]
            now[0] += then if recent.count(name) == len(recent) == 12 else first

        return one

    settles, steady = run(0.0003, 0.0001, "settles"), run(0.00015, 0.00015, "steady")
    own, other = placed_plan.usual_times(settles, steady, [])
    assert own < other


def test_similar_sizes():
    shapes = [(0,), (1,), (2,), (3, 5), (64, 65)]
    assert [similar_sizes([np.zeros(s)])[0] for s in shapes] == [(0,), (1,), (2,), (4, 8), (64, 128)]


def _too_large(*arguments):
    raise ResourceExhausted("too large")


def _fails(*arguments):
    raise Error("no")
