"""Batches: every request gets its own rows, independent of the others."""

import asyncio

import numpy as np
import pytest
from tests.recorded_models import shared
from tests.serve.batching.batched_models import (
    Gate,
    batched,
    listed,
    opened,
    parse_parameters,
    rows,
    session_of,
    watched,
)

from tfport.runtime.session import Session
from tfport.serve.batching import runner as under_test
from tfport.serve.batching.composite_inputs import has_composite_inputs
from tfport.serve.batching.runner import Batching
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.status import StatusCode, StatusError

ONE_THREAD = "num_batch_threads { value: 1 } max_batch_size { value: 4 } "


async def asked(servable, *inputs, outputs=()):
    """Call in parallel; return answers and exceptions."""
    calls = [servable.predict("", {"x": x}, outputs) for x in inputs]
    return await asyncio.gather(*calls, return_exceptions=True)


def test_requests_of_one_moment_share_a_run():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    answers = asyncio.run(asked(servable, rows(1), rows(2, 3), rows(4)))
    assert listed(answers) == [[[2]], [[4], [6]], [[8]]]
    assert gate.shapes == [(4, 1)]


def test_batches_are_no_larger_than_allowed():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    assert listed(asyncio.run(asked(servable, rows(1, 2, 3), rows(4, 5), rows(6)))) == [
        [[2], [4], [6]],
        [[8], [10]],
        [[12]],
    ]
    assert sorted(gate.shapes) == [(3, 1), (3, 1)]


def test_batches_are_padded_to_the_next_size_and_cut_again():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD + "allowed_batch_sizes: [2, 4]")
    assert listed(asyncio.run(asked(servable, rows(1), rows(2, 3)))) == [[[2]], [[4], [6]]]
    assert gate.shapes == [(4, 1)]


def test_different_shapes_do_not_mix():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    answers = asyncio.run(asked(servable, rows(1), rows(2, width=3), rows(3), rows(4, width=3)))
    assert listed(answers) == [[[2]], [[4, 4, 4]], [[6]], [[8, 8, 8]]]
    assert sorted(gate.shapes) == [(2, 1), (2, 3)]


def test_inputs_of_other_lengths_are_padded_with_their_first_element():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD + "pad_variable_length_inputs: true")
    answers = asyncio.run(asked(servable, np.float32([[5, 6, 7]]), np.float32([[1, 2]]), np.float32([[3]])))
    assert listed(answers) == [[[10, 12, 14]], [[2, 4, 2]], [[6, 6, 6]]]
    assert gate.shapes == [(3, 3)]


def test_text_shares_a_run_too():
    text = 'x = Placeholder() {dtype=string, shape=(?)}\ny = StringUpper(x) {encoding=""}'
    metrics = Metrics(process=False)
    servable = batched(session_of(text, {"x": "x:0"}, {"y": "y:0"}), ONE_THREAD, metrics=metrics)
    inputs = [np.array(words, object) for words in ([b"a"], [b"long" * 9, b""], [b"\xff"])]
    answers = asyncio.run(asked(servable, *inputs))
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
        asyncio.run(asked(servable, rows(1), outputs=outputs))
    assert len(servable.runner._lanes) == 1


def test_only_the_failing_request_of_a_batch_fails():
    gate = opened()
    servable = batched(watched(gate), ONE_THREAD)
    good, bad, other = asyncio.run(asked(servable, rows(1), rows(np.nan), rows(2, 3)))
    assert listed([good, other]) == [[[2]], [[4], [6]]]
    assert isinstance(bad, StatusError)
    assert bad.code is StatusCode.INVALID_ARGUMENT
    assert "NaN" in bad.message
    assert gate.shapes == [(4, 1), (1, 1), (1, 1), (2, 1)]


def test_a_request_that_is_too_large_is_refused():
    servable = batched(watched(opened()), ONE_THREAD)
    small, large = asyncio.run(asked(servable, rows(1), rows(1, 2, 3, 4, 5)))
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
    small, large = asyncio.run(asked(servable, rows(0), rows(*range(10))))
    assert small["y"].tolist() == [[0]]
    assert large["y"].tolist() == [[2 * i] for i in range(10)]
    assert len(large["z"]) == 10
    assert sorted(gate.shapes) == [(3, 1), (4, 1), (4, 1)]


def test_a_piece_that_fails_fails_its_request_alone():
    text = "max_batch_size { value: 8 } max_execution_batch_size { value: 2 } num_batch_threads { value: 1 }"
    servable = batched(watched(opened()), text + "enable_large_batch_splitting { value: true }")
    bad, good = asyncio.run(asked(servable, rows(1, 2, 3, 4, np.nan), rows(5, 6, 7)))
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
    answers = asyncio.run(asked(batched(session, ONE_THREAD), *inputs))
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


def test_sparse_inputs_are_run_alone():
    session = Session(shared("sparse"))
    shape = {"args_0_2": np.int64([2, 3])}
    parts = [{"args_0": np.int64([[0, 0], [1, n]]), "args_0_1": np.float32([n, 2]), **shape} for n in (1, 2)]
    servable = batched(session, ONE_THREAD)

    async def both():
        return await asyncio.gather(*(servable.predict("", inputs) for inputs in parts))

    for inputs, answer in zip(parts, asyncio.run(both()), strict=True):
        expected = session.signature("serving_default")(**inputs)
        for name, values in expected.items():
            for value, wanted in zip(answer[name], values, strict=True):
                np.testing.assert_array_equal(value, wanted)


def test_parts_of_a_ragged_input_are_not_rows():
    session = Session(shared("ragged"))
    # by chance as many values as row splits
    parts = [{"args_0": np.int64([n, 2, 3]), "args_0_1": np.int64([0, n, 3])} for n in (1, 2)]
    metrics = Metrics(process=False)
    servable = batched(session, ONE_THREAD, metrics=metrics)

    async def both():
        return await asyncio.gather(*(servable.predict("", inputs, ["sums"]) for inputs in parts))

    assert [answer["sums"].tolist() for answer in asyncio.run(both())] == [[1, 5], [4, 3]]
    assert b":tensorflow:core:graph_runs{} 2" in metrics.text()


NUMBERS = [("keras_functional", False), ("ragged", True), ("sparse", True), ("module", False)]


@pytest.mark.parametrize(("name", "parts"), NUMBERS)
def test_parts_are_known_by_the_functions_of_the_model(name, parts):
    model = shared(name)
    assert has_composite_inputs(model, model.signatures["serving_default"]) == parts


def test_types_do_not_mix():
    text = "x = Placeholder() {dtype=float32, shape=(?)}\ny = Neg(x) {T=float32}"
    servable = batched(session_of(text, {"x": "x:0"}, {"y": "y:0"}), ONE_THREAD)
    right, wrong = asyncio.run(asked(servable, np.float32([1]), np.array([1 + 2j])))
    assert right["y"].tolist() == [-1]
    assert isinstance(wrong, StatusError)


def test_a_full_queue_refuses_and_goes_on():
    gate = Gate()
    servable = batched(watched(gate), ONE_THREAD + "max_enqueued_batches { value: 2 }")

    async def crowd():
        first = asyncio.ensure_future(servable.predict("", {"x": rows(0)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        waiting = [asyncio.ensure_future(servable.predict("", {"x": rows(i, i)})) for i in range(4)]
        await asyncio.sleep(0)
        refused = await asked(servable, *[rows(9, 9)] * 50)
        gate.open.set()
        return await asyncio.gather(first, *waiting), refused

    answers, refused = asyncio.run(crowd())
    assert [answer["y"][0, 0] for answer in answers] == [0, 0, 2, 4, 6]
    assert {error.code for error in refused} == {StatusCode.UNAVAILABLE}
    assert {error.message for error in refused} == {
        "The batch scheduling queue to which this task was submitted is full; "
        "currently 2 batches enqueued and max_enqueued_batches is 2"
    }
    assert gate.shapes == [(1, 1), (4, 1), (4, 1)]


def test_requests_that_share_no_batch_are_bounded_too():
    gate = Gate()
    servable = batched(watched(gate), ONE_THREAD + "max_enqueued_batches { value: 2 }")

    async def crowd():
        first = asyncio.ensure_future(servable.predict("", {"x": rows(0)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        calls = [asyncio.ensure_future(servable.predict("", {"x": rows(1, width=w)})) for w in range(1, 21)]
        await asyncio.sleep(0)
        gate.open.set()
        return await asyncio.gather(first, *calls, return_exceptions=True)

    answers = asyncio.run(crowd())
    assert sum(isinstance(answer, dict) for answer in answers) == 1 + 2 * 4
    assert {a.code for a in answers if not isinstance(a, dict)} == {StatusCode.UNAVAILABLE}


def test_a_cancelled_request_leaves_the_queue():
    gate, metrics = Gate(), Metrics(process=False)
    servable = batched(watched(gate), ONE_THREAD + "max_enqueued_batches { value: 1 }", metrics=metrics)

    async def impatient():
        first = asyncio.ensure_future(servable.predict("", {"x": rows(0)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        gone = [asyncio.ensure_future(servable.predict("", {"x": rows(1)})) for _ in range(4)]
        await asyncio.sleep(0)
        assert b'tfport_queue_depth{model_name="model",version="1"} 4' in metrics.text()
        for call in gone:
            call.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        assert b'tfport_queue_depth{model_name="model",version="1"} 0' in metrics.text()
        stays = asyncio.ensure_future(servable.predict("", {"x": rows(1, 2, 3, 4)}))
        await asyncio.sleep(0)
        gate.open.set()
        return await asyncio.gather(first, stays)

    assert listed(asyncio.run(impatient())) == [[[0]], [[2], [4], [6], [8]]]
    assert gate.shapes == [(1, 1), (4, 1)]
    assert servable.running == 0


def test_a_request_cancelled_while_running_does_not_affect_others():
    gate = Gate()
    servable = batched(watched(gate), ONE_THREAD)

    async def impatient():
        gone, stays = [asyncio.ensure_future(servable.predict("", {"x": rows(i)})) for i in (1, 2)]
        await asyncio.to_thread(gate.entered.wait, 60)
        gone.cancel()
        await asyncio.sleep(0)
        gate.open.set()
        return await stays

    assert asyncio.run(impatient())["y"].tolist() == [[4]]
    assert gate.shapes == [(2, 1)]


def test_a_slow_model_stops_no_other():
    gate = Gate()

    async def both():
        batching = Batching(parse_parameters(ONE_THREAD))
        slow = batched(watched(gate), batching, "slow")
        quick = batched(watched(opened()), batching, "quick")
        waits = [asyncio.ensure_future(slow.predict("", {"x": rows(1)})) for _ in range(2)]
        await asyncio.to_thread(gate.entered.wait, 60)
        answers = [await quick.predict("", {"x": rows(i)}) for i in range(3)]
        assert not any(call.done() for call in waits)
        gate.open.set()
        await asyncio.gather(*waits)
        return answers

    assert listed(asyncio.run(both())) == [[[0]], [[2]], [[4]]]


def test_a_batch_waits_for_others_until_its_time_has_passed():
    gate = opened()
    servable = batched(watched(gate), "max_batch_size { value: 3 } batch_timeout_micros { value: 200000 }")

    async def one_by_one():
        first = asyncio.ensure_future(servable.predict("", {"x": rows(1)}))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not gate.shapes  # it waits although threads are idle
        second = asyncio.ensure_future(servable.predict("", {"x": rows(2)}))
        return await asyncio.gather(first, second)

    assert listed(asyncio.run(one_by_one())) == [[[2]], [[4]]]
    assert gate.shapes == [(2, 1)]


def test_a_full_batch_does_not_wait():
    gate = opened()
    hours = "max_batch_size { value: 2 } batch_timeout_micros { value: 10000000000 }"
    assert listed(asyncio.run(asked(batched(watched(gate), hours), rows(1), rows(2)))) == [[[2]], [[4]]]


def test_closing_refuses_what_waits_and_what_comes():
    gate = Gate()

    async def closing():
        batching = Batching(parse_parameters(ONE_THREAD))
        servable = batched(watched(gate), batching)
        runs = asyncio.ensure_future(servable.predict("", {"x": rows(1)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        waits = asyncio.ensure_future(servable.predict("", {"x": rows(2)}))
        await asyncio.sleep(0)
        batching.close()
        gate.open.set()
        late = servable.predict("", {"x": rows(3)})
        return await asyncio.gather(runs, waits, late, return_exceptions=True)

    runs, waits, late = asyncio.run(closing())
    assert runs["y"].tolist() == [[2]]
    assert {waits.code, late.code} == {StatusCode.UNAVAILABLE}


def test_a_batch_that_fails_while_closing_leaves_no_client_waiting():
    gate = Gate()

    async def closing():
        batching = Batching(parse_parameters(ONE_THREAD))
        servable = batched(watched(gate), batching)
        calls = asyncio.ensure_future(asked(servable, rows(1), rows(np.nan)))
        await asyncio.to_thread(gate.entered.wait, 60)
        batching.close()
        gate.open.set()
        return await calls

    assert [error.code for error in asyncio.run(closing())] == [StatusCode.UNAVAILABLE] * 2


def test_batches_are_measured():
    metrics = Metrics(process=False)
    servable = batched(watched(opened()), ONE_THREAD + "allowed_batch_sizes: 4", metrics=metrics)
    asyncio.run(asked(servable, rows(1), rows(2, 3)))
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
