"""Calls with the same arrays of a device, with the CPU in its place: what is left out, and when it is not."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.recorded_models import load
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu

import tfport
from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.engines.gpu.captured_island import CapturedIsland
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.graph_stream import HostGraphStream
from tfport.runtime.engines.gpu.in_place import RepeatedCalls, Replay, keep_replay
from tfport.runtime.engines.gpu.island_factory import IslandFactory


def array(*numbers):
    return DeviceArray(ort.OrtValue.ortvalue_from_numpy(np.array(numbers, np.float32)))


class Model:
    """A function that tells how it can be repeated, and counts how often it is called and repeated."""

    def __init__(self):
        self.calls = self.repeats = 0
        self.state, self.flagged, self.launches = 1, False, True
        self.outputs = [array(1), array(2)]

    def __call__(self, **inputs):
        self.calls += 1
        if self.launches:
            keep_replay(Replay(self.again, self.outputs))
        return {"b": self.outputs[1], "a": self.outputs[0]}

    def again(self):
        self.repeats += 1
        return None if self.flagged else [array(3), array(4)]


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def call(model):
    return RepeatedCalls(model, lambda: model.state)


def counts(model):
    return model.calls, model.repeats


def test_the_same_arrays_are_not_looked_up_again(model, call):
    x, y = array(1), array(2)
    call(x=x, y=y)
    answers = call(x=x, y=y)
    assert counts(model) == (1, 1)
    assert {name: float(value.numpy()[0]) for name, value in answers.items()} == {"a": 3, "b": 4}


@pytest.mark.parametrize("other", ["value", "name", "fewer", "host"])
def test_other_arrays_are(model, call, other):
    x, y = array(1), array(2)
    call(x=x, y=y)
    inputs = {
        "value": {"x": x, "y": array(2)},
        "name": {"x": x, "z": y},
        "fewer": {"x": x},
        "host": {"x": x, "y": np.ones(1, np.float32)},
    }
    call(**inputs[other])
    assert counts(model) == (2, 0)


class Tensor:
    """A tensor as PyTorch has it."""

    def __init__(self):
        self.shape, self.place = (1, 2), 256

    def data_ptr(self):
        return self.place


@pytest.mark.parametrize("change", ["", "shape", "place", "tensor"])
def test_a_tensor_of_pytorch_is_repeated_while_it_has_the_same_memory(model, call, change):
    x = Tensor()
    call(x=x)
    if change == "shape":
        x.shape = (2, 1)
    elif change == "place":
        x.place = 512
    call(x=Tensor() if change == "tensor" else x)
    assert counts(model) == ((2, 0) if change else (1, 1))


def test_arrays_of_the_host_never_are_repeated(model, call):
    x = np.ones(1, np.float32)
    for _ in range(3):
        call(x=x)
    assert counts(model) == (3, 0)


def test_a_flag_leads_to_a_full_call(model, call):
    x = array(1)
    call(x=x)
    model.flagged = True
    call(x=x)
    assert counts(model) == (2, 1)


def test_a_new_state_leads_to_a_full_call(model, call):
    x = array(1)
    call(x=x)
    model.state = 2
    call(x=x)
    model.state = None  # such as a call with limits
    call(x=x)
    call(x=x)
    assert counts(model) == (4, 0)


def test_a_call_that_launches_no_graph_is_made_in_full(model, call):
    x = array(1)
    model.launches = False
    for _ in range(3):
        call(x=x)
    assert counts(model) == (3, 0)


def test_an_answer_that_is_not_of_the_graph_is_made_in_full(model):
    call = RepeatedCalls(lambda **inputs: {**model(**inputs), "c": array(9)}, lambda: 1)
    x = array(1)
    for _ in range(3):
        assert call(x=x)["c"].numpy() == [9]
    assert counts(model) == (3, 0)


def captured(factory):
    """An island that is recorded, as on a GPU."""
    plain = factory.plain()
    return CapturedIsland(plain, HostGraphStream(), lambda shapes: plain, 4)


@pytest.mark.parametrize("limits", [RunLimits(), RunLimits(max_bytes=2**30)])
def test_a_session_repeats_its_graph(monkeypatch, limits):
    monkeypatch.setattr(IslandFactory, "island", captured)
    session = tfport.Session(load("keras_functional"), engine=engine_on_cpu(), limits=limits)
    (name,) = [name for name in session.model.signatures if name.startswith("serving")]
    runs, run = [], session.run
    monkeypatch.setattr(session, "run", lambda *a, **k: runs.append(1) or run(*a, **k))
    bound = session.bind(name, in_place=True)
    random = np.random.default_rng(0)
    memory = {
        key: np.zeros([size or 2 for size in spec.shape.dims], spec.dtype.numpy)
        for key, spec in session.model.signatures[name].inputs.items()
    }
    there = {key: DeviceArray(ort.OrtValue.ortvalue_from_numpy(array)) for key, array in memory.items()}
    for _ in range(8):
        for array in memory.values():
            array[...] = random.integers(0, 3, array.shape)
        expected = tfport.Session(session.model).signature(name)(**memory)
        for key, answer in bound(**there).items():
            np.testing.assert_allclose(answer.numpy(), expected[key], rtol=1e-5, atol=1e-6)
    assert len(runs) == (8 if limits.max_bytes else 3)  # two before a graph is captured, and the first of it
