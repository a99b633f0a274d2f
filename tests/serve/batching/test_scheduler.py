"""The scheduler: turns, timeouts and closing."""

import asyncio
import threading

import numpy as np
from tests.serve.batching.batched_models import (
    ONE_THREAD,
    Gate,
    batched,
    call_all,
    listed,
    opened,
    parse_parameters,
    rows,
    watched,
)

from tfport.serve.batching.runner import Batching
from tfport.serve.status import StatusCode


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


def test_all_batches_that_may_run_start_when_one_ends():
    """A thread is free, and the other model has nothing running: two batches start, not only one."""

    class Turnstile(Gate):
        def __call__(self, x):
            entered.release()
            assert turns.acquire(timeout=60)
            return x

    turns, entered, stuck = threading.Semaphore(0), threading.Semaphore(0), Gate()

    async def both():
        batching = Batching(parse_parameters("max_batch_size { value: 1 } num_batch_threads { value: 2 }"))
        one = batched(watched(stuck), batching, "one")
        other = batched(watched(Turnstile()), batching, "other")
        calls = [asyncio.ensure_future(one.predict("", {"x": rows(0)}))]
        await asyncio.to_thread(stuck.entered.wait, 60)
        stuck.entered.clear()
        calls.append(asyncio.ensure_future(other.predict("", {"x": rows(0)})))
        assert await asyncio.to_thread(entered.acquire, timeout=60)
        calls += [asyncio.ensure_future(model.predict("", {"x": rows(1)})) for model in (one, other)]
        for _ in range(5):
            await asyncio.sleep(0)
        turns.release()
        assert await asyncio.to_thread(stuck.entered.wait, 60)
        assert await asyncio.to_thread(entered.acquire, timeout=60)
        turns.release()
        stuck.open.set()
        return await asyncio.gather(*calls)

    assert listed(asyncio.run(both())) == [[[0]], [[0]], [[2]], [[2]]]


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
    assert listed(asyncio.run(call_all(batched(watched(gate), hours), rows(1), rows(2)))) == [[[2]], [[4]]]


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
        calls = asyncio.ensure_future(call_all(servable, rows(1), rows(np.nan)))
        await asyncio.to_thread(gate.entered.wait, 60)
        batching.close()
        gate.open.set()
        return await calls

    assert [error.code for error in asyncio.run(closing())] == [StatusCode.UNAVAILABLE] * 2
