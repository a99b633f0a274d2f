"""The queue: limits, and requests that are cancelled."""

import asyncio

from tests.serve.batching.batched_models import (
    ONE_THREAD,
    Gate,
    batched,
    call_all,
    listed,
    opened,
    rows,
    watched,
)

from tfport.serve.batching.batch_growth import KNOWN, RowLimit
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.status import StatusCode
from tfport.startup.dataclass import replace


def test_a_full_queue_refuses_and_goes_on():
    gate = Gate()
    servable = batched(watched(gate), ONE_THREAD + "max_enqueued_batches { value: 2 }")

    async def crowd():
        first = asyncio.ensure_future(servable.predict("", {"x": rows(0)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        waiting = [asyncio.ensure_future(servable.predict("", {"x": rows(i, i)})) for i in range(4)]
        await asyncio.sleep(0)
        refused = await call_all(servable, *[rows(9, 9)] * 50)
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


def test_a_client_that_is_alone_does_not_wait_for_others():
    servable = batched(watched(opened()), "batch_timeout_micros { value: 1000 } max_batch_size { value: 4 }")

    async def one_by_one():
        for _ in range(KNOWN):
            await servable.predict("", {"x": rows(1)})
        (lane,) = servable.runner._lanes.values()
        lane.queue.parameters = replace(lane.queue.parameters, timeout=3600.0)
        async with asyncio.timeout(60):
            return await servable.predict("", {"x": rows(2)})

    assert asyncio.run(one_by_one())["y"].tolist() == [[4]]


def test_a_batch_has_no_more_rows_than_pay():
    gate = Gate()
    servable = batched(watched(gate), ONE_THREAD)

    async def crowd():
        first = asyncio.ensure_future(servable.predict("", {"x": rows(0)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        (lane,) = servable.runner._lanes.values()
        lane.queue._limit = RowLimit(2)
        sizes = [(1,), (2,), (3, 4), (5, 6, 7), (8,)]
        calls = [asyncio.ensure_future(servable.predict("", {"x": rows(*size)})) for size in sizes]
        await asyncio.sleep(0)
        gate.open.set()
        return await asyncio.gather(first, *calls)

    answers = listed(asyncio.run(crowd()))
    assert answers == [[[0]], [[2]], [[4]], [[6], [8]], [[10], [12], [14]], [[16]]]
    assert gate.shapes == [(1, 1), (2, 1), (2, 1), (3, 1), (1, 1)]
