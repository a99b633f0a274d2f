"""The time of each node: from events of the engine and steps on the host to nodes of the model."""

from tests.recorded_models import graph

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.operand import Operand
from tfport.runtime.profile.engine_events import EngineEvent
from tfport.runtime.profile.node_origins import NodeOrigin, NodeOrigins, numbers_in
from tfport.runtime.profile.profile import node_times
from tfport.runtime.profile.recorder import Clock, HostStep, IslandRecord, Recorder
from tfport.runtime.profile.times import IslandTime
from tfport.runtime.program import OnnxNode, Step

PROGRAM = graph("""
    x = Placeholder() {dtype=float32}
    conv = Neg(x) {T=float32}
    relu = Relu(conv) {T=float32}
    host = Abs(relu) {T=float32}
    folded = Const() {dtype=float32, value=float32()[1.0]}
""")


def step_of(name: str, origins: NodeOrigins, *, lowered: int = 1) -> Step:
    out = Operand(FLOAT32, name=name)
    nodes = [OnnxNode("Neg", (), (out,), {}) for _ in range(lowered)]
    step = Step(name, PROGRAM[name].op, (), (out,), nodes)
    origins.add(PROGRAM[name], step)
    return step


def test_events_lead_back_to_nodes_and_are_scaled_to_the_island():
    recorder = Recorder()
    steps = [step_of(name, recorder.origins) for name in ("conv", "relu")]
    conv, relu = (step.outputs[0].name for step in steps)
    record = IslandRecord({}, 2, "")
    record.origins = [recorder.origins.of_step(step) for step in steps]
    recorder.islands.append(record)
    host = HostStep(NodeOrigin(None, "host", "Abs"), "Abs", "too small", fastest=Clock(2, 0.5))
    recorder.origins.add_folded(PROGRAM["folded"])
    events = [
        [EngineEvent("FusedConv", f"Conv:{conv}/fused/Relu:{relu}", 0.2), EngineEvent("X", "unnamed", 0.1)]
    ]
    times = node_times(recorder, [host], [IslandTime({}, 2, "", 1, 0.1, 0.0)], events)
    by_name = {time.origin.name: (time.where, time.calls, time.seconds, time.reason) for time in times}
    assert by_name == {
        "host": ("host", 2, 0.5, "too small"),
        "conv": (0, 1, 0.1, ""),
        "relu": (0, 0, 0.0, ""),
        "folded": ("folded", 0, 0.0, ""),
    }
    assert [time.origin.name for time in times[:2]] == ["host", "conv"]


def test_a_node_of_several_steps_has_the_sum():
    origin = NodeOrigin("f", "body", "Mul")
    steps = [HostStep(origin, "Mul", why, fastest=Clock(1, s)) for why, s in (("a", 1.0), ("b", 3.0))]
    (time,) = node_times(Recorder(), steps, [], [])
    assert (time.calls, time.seconds, time.reason) == (2, 4.0, "b")


def test_a_step_that_replaces_others_is_of_the_node_with_its_outputs():
    origins = NodeOrigins()
    step = step_of("relu", origins)
    other = Step("new", "Fused", (), step.outputs)
    assert origins.of_step(other) == origins.of_step(step) == NodeOrigin(None, "relu", "Relu")
    assert origins.of_step(Step("loop", "Scan", (), ())) == NodeOrigin(None, "loop", "Scan")


def test_numbers_of_operands_in_a_name():
    assert numbers_in("Conv:a/b#12/fused#7_x") == [12, 7]
    assert numbers_in("a#b #") == []
