"""CUDA graphs with the CPU in place of the GPU: the same bindings and buffers, but nothing is captured."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.runtime.engines.gpu.one_op_models import node, onnx_bytes, onnx_session

from tfport.runtime.engines.engine import EngineFailed, IslandRejected
from tfport.runtime.engines.gpu.captured_island import CapturedIsland, CudaGraph
from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.gpu_island import GpuIsland
from tfport.runtime.engines.gpu.graph_stream import HostGraphStream
from tfport.runtime.engines.gpu.in_place import in_place
from tfport.runtime.engines.gpu.preparation import PREPARATIONS

SUM = onnx_bytes([node("Add", "x y", "z")], {"x": ("float32", 1), "y": ("float32", 1)}, {"z": "float32"})


@pytest.fixture
def captured():
    """The shapes that were captured."""
    return []


def island_of(captured, *, max_graphs: int = 2, can_capture: bool = True) -> CapturedIsland:
    island = GpuIsland(onnx_session(SUM), ["x", "y"], ["z"], "cpu", 0)

    def to_capture(shapes):
        captured.append(shapes)
        return island if can_capture else None

    return CapturedIsland(island, HostGraphStream(), to_capture, max_graphs)


def sum_of(island: CapturedIsland, *values: float) -> list[float]:
    x = np.array(values, np.float32)
    (result,) = island.run([x, x + 1])
    return result.numpy().tolist()


def test_shapes_that_come_back_are_captured_once(captured):
    island = island_of(captured)
    for value in range(6):
        assert sum_of(island, value, 2) == [2 * value + 1, 5]
        assert sum_of(island, value) == [2 * value + 1]
    assert captured == [((2,), (2,)), ((1,), (1,))]


def test_an_answer_is_not_overwritten_by_the_next(captured):
    island = island_of(captured)
    answers = [island.run([np.full(1, v, np.float32), np.zeros(1, np.float32)])[0] for v in range(5)]
    assert captured
    assert [answer.numpy().tolist() for answer in answers] == [[0], [1], [2], [3], [4]]


def test_the_number_of_graphs_is_bounded(captured):
    island = island_of(captured, max_graphs=1)
    for _ in range(3):
        for count in (1, 2, 3):
            assert sum_of(island, *range(count)) == [2 * i + 1 for i in range(count)]
    assert len(captured) == 1


def test_shapes_that_cannot_be_captured_are_tried_once(captured):
    island = island_of(captured, can_capture=False)
    for value in range(5):
        assert sum_of(island, value) == [2 * value + 1]
    assert len(captured) == 1


def test_tensors_of_the_device_are_taken_as_they_are(captured):
    island = island_of(captured)
    one = np.ones(1, np.float32)
    (x,) = island.run([one, one])
    for _ in range(4):
        (x,) = island.run([x, one])
    assert x.numpy().tolist() == [6]


def test_after_a_graph_has_failed_nothing_is_captured_and_another_session_runs(captured, monkeypatch):
    plain = GpuIsland(onnx_session(SUM), ["x", "y"], ["z"], "cpu", 0)
    first = GpuIsland(onnx_session(SUM), ["x", "y"], ["z"], "cpu", 0, captures=True)
    made, ran = [], []
    monkeypatch.setattr(plain, "run", lambda arrays, run=plain.run: ran.append(1) or run(arrays))
    island = CapturedIsland(
        first, HostGraphStream(), lambda shapes: first, 2, plain=lambda: made.append(1) or plain
    )
    monkeypatch.setattr(CudaGraph, "run", _fails)
    for value in range(5):
        assert sum_of(island, value) == [2 * value + 1]
    assert (len(made), len(ran)) == (1, 3)


@pytest.mark.parametrize("can_capture", [True, False])
def test_shapes_that_come_back_and_are_not_captured_move_to_the_tuned_island(captured, can_capture):
    """Until then, and for other shapes, the island runs that answers soonest."""
    quick, tuned = (GpuIsland(onnx_session(SUM), ["x", "y"], ["z"], "cpu", 0) for _ in range(2))
    ran = []
    for name, each in (("quick", quick), ("tuned", tuned)):
        each.run = lambda arrays, run=each.run, name=name: ran.append(name) or run(arrays)  # type: ignore[method-assign]
    island = CapturedIsland(
        quick, HostGraphStream(), lambda shapes: tuned if can_capture else None, 1, tuned=lambda: tuned
    )
    for value in range(4):
        assert sum_of(island, value) == [2 * value + 1]
    assert sum_of(island, 1, 2) == [3, 5]
    first = ["quick", "quick"] if can_capture else ["quick", "quick", "tuned", "tuned", "tuned"]
    assert ran == [*first, "quick"]  # the tuned island runs once before it is used
    for _ in range(3):
        assert sum_of(island, 1, 2) == [3, 5]
    assert ran[len(first) :] == ["quick", "quick", "tuned", "tuned", "tuned"]  # no more graphs than one


def test_an_island_that_cannot_be_made_to_capture_runs_as_before(captured):
    quick = GpuIsland(onnx_session(SUM), ["x", "y"], ["z"], "cpu", 0)

    def rejected(shapes):
        captured.append(shapes)
        raise IslandRejected("no")

    island = CapturedIsland(quick, HostGraphStream(), rejected, 4)
    for value in range(4):
        assert sum_of(island, value) == [2 * value + 1]
    assert captured == [((1,), (1,))]


def test_calls_go_on_while_a_graph_is_made(captured, monkeypatch):
    """And what fails beside them is not seen."""
    waiting = []
    monkeypatch.setattr(PREPARATIONS, "begin", waiting.append)
    island = island_of(captured)
    for value in range(5):
        assert sum_of(island, value) == [2 * value + 1]
    assert captured == []
    (prepare,) = waiting
    prepare()
    assert captured == [((1,), (1,))]
    assert sum_of(island, 7) == [15]


def test_an_output_of_a_session_that_captures_is_a_copy(captured):
    island = GpuIsland(onnx_session(SUM), ["x", "y"], ["z"], "cpu", 0, captures=True)
    copies = []
    island.copy = lambda value, copy=island.copy: copies.append(value) or copy(value)  # type: ignore[method-assign]
    one = np.ones(1, np.float32)
    assert island.run([one, one])[0].numpy().tolist() == [2]
    assert len(copies) == 1


def _fails(*arguments):
    raise EngineFailed("the capture was ended by another thread")


def test_what_the_host_reads_is_on_the_host_and_not_copied_on_the_device(captured, monkeypatch):
    two = onnx_bytes(
        [node("Add", "x y", "z"), node("Less", "x y", "flag")],
        {"x": ("float32", 1), "y": ("float32", 1)},
        {"z": "float32", "flag": "bool"},
    )
    plain = GpuIsland(onnx_session(two), ["x", "y"], ["z", "flag"], "cpu", 0, host_outputs=1)
    island = CapturedIsland(plain, HostGraphStream(), lambda shapes: captured.append(shapes) or plain, 1)
    copied, real = [], GpuIsland.empty_like
    monkeypatch.setattr(GpuIsland, "empty_like", lambda self, a: copied.append(a.dtype) or real(self, a))
    answers = [island.run([np.full(1, v, np.float32), np.full(1, 2, np.float32)]) for v in range(6)]
    assert captured == [((1,), (1,))]
    assert [type(flag) is np.ndarray and flag.tolist() for _, flag in answers] == [[v < 2] for v in range(6)]
    assert [z.numpy().tolist() for z, _ in answers] == [[v + 2] for v in range(6)]
    assert copied == [np.float32] * 4  # the graph ran four times


def device_arrays(*values: float) -> list[DeviceArray]:
    return [DeviceArray(ort.OrtValue.ortvalue_from_numpy(np.full(1, v, np.float32))) for v in values]


def test_in_place_arrays_are_read_where_they_are_and_outputs_overwritten(captured):
    island = island_of(captured)
    x, y = device_arrays(1, 2)
    outputs = []
    for value in range(5):
        x.value.update_inplace(np.full(1, value, np.float32))
        with in_place(True):
            (output,) = island.run([x, y])
        assert output.numpy().tolist() == [value + 2]
        outputs.append(output)
    assert len(captured) == 1
    assert len({output.value.data_ptr() for output in outputs[2:]}) == 1


def test_in_place_other_arrays_are_not_written_to(captured):
    island = island_of(captured)
    pairs = [device_arrays(value, 2) for value in range(4)]
    for _ in range(4):
        with in_place(True):
            sums = [island.run(pair)[0].numpy().tolist() for pair in pairs]
        assert sums == [[2], [3], [4], [5]]
    assert [pair[0].numpy().tolist() for pair in pairs] == [[0], [1], [2], [3]]


def test_in_place_arrays_of_the_host_are_copied(captured):
    island = island_of(captured)
    with in_place(True):
        assert [sum_of(island, value) for value in range(4)] == [[1], [3], [5], [7]]
    assert len(captured) == 1
