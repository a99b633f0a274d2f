"""The recorder: own times of steps that run others, and work of other threads."""

import threading

from tfport.runtime.profile import recorder as recorder_module
from tfport.runtime.profile.recorder import Recorder
from tfport.runtime.program import NeverLowered, Step


def unchanged(inputs):
    return inputs


def test_a_step_is_charged_without_the_steps_inside_of_it(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(recorder_module, "perf_counter", lambda: now[0])
    recorder = Recorder()

    def working(seconds, work):
        def run(inputs):
            now[0] += seconds
            return work(inputs)

        return run

    inner = recorder.step(Step("body", "Inner", (), (), run=working(2.0, unchanged)))
    outer = recorder.step(Step("loop", "Outer", (), (), run=working(3.0, inner)))
    recorder.start()
    assert outer([1]) == [1]
    recorder.stop()
    assert (recorder.host["Inner"].seconds, recorder.host["Outer"].seconds) == (2.0, 3.0)
    assert recorder.calls == 2


def test_nothing_counts_before_the_start_and_after_the_stop():
    recorder = Recorder()
    run = recorder.step(Step("a", "A", (), (), run=unchanged))
    run([])
    assert recorder.calls == 0
    recorder.start()
    run([])
    recorder.stop()
    run([])
    assert recorder.calls == 1
    recorder.start()
    assert recorder.calls == 0


def test_work_of_another_thread_belongs_to_the_step_that_waits():
    recorder = Recorder()
    inner = recorder.step(Step("map", "Map", (), (), run=unchanged))

    def wait(inputs):
        thread = threading.Thread(target=inner, args=(inputs,))
        thread.start()
        thread.join()
        return inputs

    outer = recorder.step(Step("next", "Next", (), (), run=wait))
    recorder.start()
    outer([])
    recorder.stop()
    assert (recorder.host["Map"].calls, recorder.host["Next"].calls) == (0, 1)


def test_a_step_knows_the_loop_around_it():
    recorder = Recorder()
    made = []
    body = Step("cell", "Reverse", (), (), run=unchanged, why="dims is not constant")
    loop = recorder.step(Step("loop", "While", (), (), run=lambda i: made.append(recorder.step(body)) or i))
    loop([])
    assert [(node.name, node.inside) for node in recorder.host_nodes] == [("cell", "loop")]


def test_an_op_that_is_never_lowered_is_not_reported():
    recorder = Recorder()
    recorder.step(Step("s", "AsString", (), (), run=unchanged, why=NeverLowered.NO_ONNX_OP))
    recorder.step(Step("r", "ReadVariableOp", (), (), run=unchanged))
    assert recorder.host_nodes == []


def test_the_least_time_of_a_step_counts_in_several_runs(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(recorder_module, "perf_counter", lambda: now[0])
    recorder = Recorder()

    def work(inputs):
        now[0] += inputs[0]
        return inputs

    run = recorder.step(Step("a", "A", (), (), run=work))
    for seconds in (3.0, 1.0, 2.0):
        recorder.start()
        run([seconds])
        recorder.stop()
    (step,) = recorder.steps
    assert (step.clock.seconds, step.fastest.seconds, step.fastest.calls) == (2.0, 1.0, 1)
