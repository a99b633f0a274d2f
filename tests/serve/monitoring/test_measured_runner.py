"""Calls that are not batched: the same answers, and their metrics."""

import asyncio

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.serve.batching.batched_models import Gate, opened, rows, watched

from tfport.serve.light_calls import LightCalls
from tfport.serve.monitoring.measured_runner import MeasuredRunner
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.servable import Servable
from tfport.serve.status import StatusError
from tfport.serve.thread_shares import CallThreads


def measured(gate):
    metrics, session = Metrics(process=False), watched(gate)
    runner = MeasuredRunner(CallThreads(1), metrics, LightCalls(session), "m", 2)
    return Servable("m", 2, session, runner), metrics


def values(metrics, name):
    families = text_string_to_metric_families(metrics.text().decode())
    return {
        sample.labels.get("stage", ""): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def test_each_call_is_measured():
    servable, metrics = measured(opened())
    assert asyncio.run(servable.predict("", {"x": rows(1, 2)}))["y"].tolist() == [[2], [4]]
    with pytest.raises(StatusError):
        asyncio.run(servable.predict("", {"x": rows(np.nan)}))
    assert values(metrics, "tfport_stage_seconds_count") == {"queue": 2, "run": 2}
    assert values(metrics, "tfport_rows_total") == {"": 3}
    assert values(metrics, "tfport_queue_depth") == {"": 0}


def test_a_run_that_does_not_end_when_it_is_told_to_is_stuck():
    gate = Gate()
    servable, metrics = measured(gate)
    metrics.loaded("m", 2, "/m/2", 1.0)

    def watched_runs():
        names = ("tfport_runs_in_progress", "tfport_stuck_runs")
        return [values(metrics, name)[""] for name in names]

    async def impatient():
        assert watched_runs() == [0, 0]
        call = asyncio.ensure_future(servable.predict("", {"x": rows(1)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        assert watched_runs() == [1, 0]
        assert values(metrics, "tfport_oldest_run_seconds")[""] > 0
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert watched_runs() == [1, 1]
        gate.open.set()
        while watched_runs() != [0, 0]:
            await asyncio.sleep(0.01)

    asyncio.run(impatient())
    metrics.unloaded("m", 2)
    assert values(metrics, "tfport_stuck_runs") == {}


def test_a_call_cancelled_before_it_starts_runs_nothing():
    gate = Gate()
    servable, metrics = measured(gate)

    async def impatient():
        first = asyncio.ensure_future(servable.predict("", {"x": rows(1)}))
        await asyncio.to_thread(gate.entered.wait, 60)
        second = asyncio.ensure_future(servable.predict("", {"x": rows(2)}))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        gate.open.set()
        return await first

    assert asyncio.run(impatient())["y"].tolist() == [[2]]
    assert values(metrics, "tfport_stage_seconds_count") == {"queue": 1, "run": 1}
    assert gate.shapes == [(1, 1)]
