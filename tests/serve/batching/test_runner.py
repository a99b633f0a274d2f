"""Batches: every request gets its own rows, independent of the others."""

import asyncio

import numpy as np
import pytest
from tests.serve.batching.batched_models import (
    ONE_THREAD,
    Gate,
    batched,
    call_all,
    listed,
    opened,
    rows,
    session_of,
    watched,
)

from tfport.serve.batching import runner as under_test
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.status import StatusCode, StatusError


def test_requests_of_one_moment_share_a_run():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    answers = asyncio.run(call_all(servable, rows(1), rows(2, 3), rows(4)))
    assert listed(answers) == [[[2]], [[4], [6]], [[8]]]
    assert gate.shapes == [(4, 1)]


def test_batches_are_no_larger_than_allowed():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    assert listed(asyncio.run(call_all(servable, rows(1, 2, 3), rows(4, 5), rows(6)))) == [
        [[2], [4], [6]],
        [[8], [10]],
        [[12]],
    ]
    assert sorted(gate.shapes) == [(3, 1), (3, 1)]


def test_batches_are_padded_to_the_next_size_and_cut_again():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD + "allowed_batch_sizes: [2, 4]")
    assert listed(asyncio.run(call_all(servable, rows(1), rows(2, 3)))) == [[[2]], [[4], [6]]]
    assert gate.shapes == [(4, 1)]


def test_different_shapes_do_not_mix():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    answers = asyncio.run(call_all(servable, rows(1), rows(2, width=3), rows(3), rows(4, width=3)))
    assert listed(answers) == [[[2]], [[4, 4, 4]], [[6]], [[8, 8, 8]]]
    assert sorted(gate.shapes) == [(2, 1), (2, 3)]


def test_inputs_of_other_lengths_are_padded_with_their_first_element():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD + "pad_variable_length_inputs: true")
    answers = asyncio.run(
        call_all(servable, np.float32([[5, 6, 7]]), np.float32([[1, 2]]), np.float32([[3]]))
    )
    assert listed(answers) == [[[10, 12, 14]], [[2, 4, 2]], [[6, 6, 6]]]
    assert gate.shapes == [(3, 3)]


def test_text_shares_a_run_too():
    text = 'x = Placeholder() {dtype=string, shape=(?)}\ny = StringUpper(x) {encoding=""}'
    metrics = Metrics(process=False)
    servable = batched(session_of(text, {"x": "x:0"}, {"y": "y:0"}), ONE_THREAD, metrics=metrics)
    inputs = [np.array(words, object) for words in ([b"a"], [b"long" * 9, b""], [b"\xff"])]
    answers = asyncio.run(call_all(servable, *inputs))
    assert listed(answers) == [[b"A"], [b"LONG" * 9, b""], [b"\xff"]]
    assert metrics.total("/tensorflow/serving/batching_session/wrapped_run_count") == 1


def test_outputs_are_part_of_what_is_shared():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)

    async def mixed():
        x = {"x": rows(1)}
        return await asyncio.gather(
            servable.predict("", x, ["y"]),
            servable.predict("", x, ["z"]),
            servable.predict("", x, ["z", "y"]),
            servable.predict("", x),
        )

    only_y, only_z, turned, both = asyncio.run(mixed())
    assert list(only_y) == ["y"]
    assert list(only_z) == ["z"]
    assert list(turned) == ["z", "y"]
    assert list(both) == ["y", "z"]
    assert sorted(gate.shapes) == [(1, 1), (1, 1), (2, 1)]


def test_sets_of_outputs_that_clients_make_up_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(under_test, "MOST_LANES", 1)
    servable = batched(watched(opened()), ONE_THREAD)
    for outputs in (["y"], ["z"], ["y", "z"]):
        asyncio.run(call_all(servable, rows(1), outputs=outputs))
    assert len(servable.runner._lanes) == 1


def test_only_the_failing_request_of_a_batch_fails():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    good, bad, other = asyncio.run(call_all(servable, rows(1), rows(np.nan), rows(2, 3)))
    assert listed([good, other]) == [[[2]], [[4], [6]]]
    assert isinstance(bad, StatusError)
    assert bad.code is StatusCode.INVALID_ARGUMENT
    assert "NaN" in bad.message
    assert gate.shapes == [(4, 1), (1, 1), (1, 1), (2, 1)]


def test_a_request_that_is_too_large_is_refused():
    servable = batched(watched(opened()), ONE_THREAD)
    small, large = asyncio.run(call_all(servable, rows(1), rows(1, 2, 3, 4, 5)))
    assert listed([small]) == [[[2]]]
    assert large.code is StatusCode.INVALID_ARGUMENT
    assert large.message == "Task size 5 is larger than maximum input batch size 4"


def test_a_large_request_is_split_where_that_is_allowed():
    gate = opened()
    text = (
        "num_batch_threads { value: 1 } max_batch_size { value: 10 } "
        "max_execution_batch_size { value: 4 } enable_large_batch_splitting { value: true }"
    )
    servable = batched(watched(gate), text)
    small, large = asyncio.run(call_all(servable, rows(0), rows(*range(10))))
    assert small["y"].tolist() == [[0]]
    assert large["y"].tolist() == [[2 * i] for i in range(10)]
    assert len(large["z"]) == 10
    assert sorted(gate.shapes) == [(3, 1), (4, 1), (4, 1)]


def test_a_piece_that_fails_fails_its_request_alone():
    text = "max_batch_size { value: 8 } max_execution_batch_size { value: 2 } num_batch_threads { value: 1 }"
    servable = batched(watched(opened()), text + "enable_large_batch_splitting { value: true }")
    bad, good = asyncio.run(call_all(servable, rows(1, 2, 3, 4, np.nan), rows(5, 6, 7)))
    assert bad.code is StatusCode.INVALID_ARGUMENT
    assert good["y"].tolist() == [[10], [12], [14]]


ALONE = [  # graph, outputs, inputs
    (
        "x = Placeholder() {dtype=float32, shape=(...)}\n y = Neg(x) {T=float32}",
        [np.float32(1), np.float32(2)],
    ),
    (
        "x = Placeholder() {dtype=float32, shape=(1, 2)}\n y = Neg(x) {T=float32}",
        [np.float32([[1, 2]]), np.float32([[3, 4]])],
    ),
    (
        "x = Placeholder() {dtype=float32, shape=(?, 2)}\n"
        " a = Const() {dtype=int32, value=int32(1)[1]}\n y = Sum(x, a) {T=float32, Tidx=int32}\n"
        " b = Const() {dtype=int32, value=int32(2)[0, 1]}\n z = Sum(x, b) {T=float32, Tidx=int32}",
        [np.float32([[1, 2]]), np.float32([[3, 4], [5, 6]])],
    ),
    (
        "x = Placeholder() {dtype=float32, shape=(?)}\n y = Neg(x) {T=float32}",
        [np.float32([]), np.float32([1, 2])],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "inputs"), ALONE)
def test_what_has_no_rows_is_run_alone(text, inputs):
    names = {name: f"{name}:0" for name in ("y", "z") if f" {name} = " in text}
    session = session_of(text.replace("\n ", "\n"), {"x": "x:0"}, names)
    answers = asyncio.run(call_all(batched(session, ONE_THREAD), *inputs))
    for x, answer in zip(inputs, answers, strict=True):
        expected = session.signature("serving_default")(x=x)
        for name in names:
            np.testing.assert_array_equal(answer[name], expected[name])


def test_outputs_that_turn_out_to_have_no_rows_are_answered_from_runs_of_their_own():
    text = """
        x = Placeholder() {dtype=float32, shape=(?)}
        k = Placeholder() {dtype=float32, shape=(?)}
        y = Where(x) {T=float32}
    """
    servable = batched(session_of(text, {"x": "x:0", "k": "k:0"}, {"y": "y:0"}), ONE_THREAD)

    async def twice():
        calls = []
        for x in ([0, 1], [1, 1]):
            calls.append(servable.predict("", {"x": np.float32(x), "k": np.float32(x)}))
        return await asyncio.gather(*calls)

    assert listed(asyncio.run(twice())) == [[[1]], [[0], [1]]]
    (lane,) = servable.runner._lanes.values()
    assert not lane.has_rows


def test_types_do_not_mix():
    text = "x = Placeholder() {dtype=float32, shape=(?)}\ny = Neg(x) {T=float32}"
    servable = batched(session_of(text, {"x": "x:0"}, {"y": "y:0"}), ONE_THREAD)
    right, wrong = asyncio.run(call_all(servable, np.float32([1]), np.array([1 + 2j])))
    assert right["y"].tolist() == [-1]
    assert isinstance(wrong, StatusError)


def test_batches_are_measured():
    metrics = Metrics(process=False)
    servable = batched(watched(opened()), ONE_THREAD + "allowed_batch_sizes: 4", metrics=metrics)
    asyncio.run(call_all(servable, rows(1), rows(2, 3)))
    text = metrics.text().decode()
    for line in (
        ":tensorflow:serving:batching_session:wrapped_run_count{} 1",
        ':tensorflow:serving:batching_session:queuing_latency_count{thread_pool_name=""} 2',
        ':tensorflow:serving:batching_session:padding_size_sum{execution_batch_size="4"} 1',
        ":tensorflow:serving:batching_session:input_batch_size_sum{} 3",
        ":tensorflow:serving:batching_session:processed_batch_size_sum{} 4",
        ":tensorflow:core:graph_runs{} 1",
        'tfport_rows_total{model_name="model",version="1",signature="serving_default"} 3',
        'tfport_queue_depth{model_name="model",version="1"} 0',
        ":tensorflow:core:graph_run_time_usecs_histogram_count{} 1",
    ):
        assert line in text.splitlines()


# never ends if a number is positive
UNTIL_ZERO = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = While(zero, x) {T=[int32, float32], cond=@go, body=@turn, output_shapes=[(), (?, ?)]}
    y = Identity(w:1) {T=float32}
    def go(i: int32, x: float32) -> (r: bool):
      axes = Const() {dtype=int32, value=int32(2)[0, 1]}
      most = Max(x, axes) {T=float32, Tidx=int32, keep_dims=false}
      none = Const() {dtype=float32, value=float32()[0]}
      c = Greater(most, none) {T=float32}
      return r=c
    def turn(i: int32, x: float32) -> (i1: int32, x1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      z = Abs(x) {T=float32}
      return i1=j, x1=z
"""


def test_a_batch_is_stopped_when_no_client_waits_for_it():
    servable = batched(session_of(UNTIL_ZERO, {"x": "x:0"}, {"y": "y:0"}), ONE_THREAD)

    async def run():
        calls = [asyncio.ensure_future(servable.predict("", {"x": rows(1)})) for _ in range(2)]
        await asyncio.sleep(0.2)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return await servable.predict("", {"x": rows(0)})  # by the only thread

    assert listed([asyncio.run(run())]) == [[[0]]]


def test_a_client_that_leaves_does_not_stop_the_batch_of_others():
    gate = Gate()
    servable = batched(watched(gate), ONE_THREAD)

    async def run():
        first, second = (asyncio.ensure_future(servable.predict("", {"x": rows(n)})) for n in (1, 2))
        while not gate.entered.is_set():
            await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        gate.open.set()
        return await second

    assert listed([asyncio.run(run())]) == [[[4]]]
    assert gate.shapes == [(2, 1)]
