"""Calls that the event loop runs itself: only those of steady models, after short calls of the same kind."""

import asyncio
import threading
from time import perf_counter, sleep, thread_time

import numpy as np
import pytest
from tests.recorded_models import path_of
from tests.serve.batching.batched_models import session_of
from tests.serve.monitoring.test_measured_runner import values

from tfport.runtime.session import Session
from tfport.serve.light_calls import LIGHT_SECONDS, MOST_KINDS, SHORT_CALLS, LightCalls, is_steady
from tfport.serve.monitoring.measured_runner import MeasuredRunner
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.servable import Servable
from tfport.serve.status import StatusError
from tfport.serve.thread_shares import CallThreads

DOUBLED = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    two = Const() {dtype=float32, value=float32()[2]}
    y = Mul(x, two) {T=float32}
"""
TILED = """
    x = Placeholder() {dtype=int32, shape=(?,)}
    y = Tile(x, x) {T=int32, Tmultiples=int32}
"""
SWITCHED = """
    x = Placeholder() {dtype=float32, shape=()}
    y = Neg(x) {T=float32}
"""


def session(text):
    return session_of(text, {"x": "x:0"}, {"y": "y:0"})


def kind(calls, shape, text=DOUBLED):
    return calls.kind_of(session(text).model.signatures["serving_default"], {"x": np.zeros(shape)}, ["y"])


def repeat(calls, kind, times, seconds=LIGHT_SECONDS / 2):
    for _ in range(times):
        calls.ran(kind, seconds)


@pytest.mark.parametrize(("text", "steady"), [(DOUBLED, True), (TILED, False), (SWITCHED, True)])
def test_a_model_is_steady_if_values_do_not_decide_how_much_it_computes(text, steady):
    model = session(text).model
    assert is_steady(model, model.signatures["serving_default"]) is steady


def test_a_call_is_light_after_enough_short_calls_of_its_kind():
    calls = LightCalls(session(DOUBLED))
    small, large = kind(calls, (1, 4)), kind(calls, (1000, 4))
    repeat(calls, small, SHORT_CALLS - 1)
    assert not calls.is_light(small)
    repeat(calls, small, 1)
    assert calls.is_light(small)
    assert not calls.is_light(large)


def test_a_long_call_now_and_then_is_tolerated_but_not_several():
    calls = LightCalls(session(DOUBLED))
    small = kind(calls, (1, 4))
    repeat(calls, small, 100 * SHORT_CALLS)
    repeat(calls, small, 1, 2 * LIGHT_SECONDS)
    assert calls.is_light(small)
    repeat(calls, small, 5, 2 * LIGHT_SECONDS)
    assert not calls.is_light(small)


def test_values_that_decide_and_switches_are_never_light():
    assert kind(LightCalls(session(TILED)), (1,), TILED) is None
    assert kind(LightCalls(session(SWITCHED)), (), SWITCHED) is None


def test_clients_cannot_fill_the_memory():
    calls = LightCalls(session(DOUBLED))
    for size in range(2 * MOST_KINDS):
        repeat(calls, kind(calls, (size, 1)), SHORT_CALLS)
    assert sum(calls.is_light(kind(calls, (size, 1))) for size in range(2 * MOST_KINDS)) == MOST_KINDS


@pytest.mark.parametrize(("clock", "light"), [(thread_time, True), (perf_counter, False)])
def test_waiting_in_a_thread_does_not_count_as_work(clock, light):
    doubled = session(DOUBLED)
    run = doubled.run

    def delayed(*args, **options):
        sleep(2 * LIGHT_SECONDS)  # for a lock
        return run(*args, **options)

    doubled.run = delayed
    calls = LightCalls(doubled, clock)
    runner = MeasuredRunner(CallThreads(1), Metrics(process=False), calls, "m", 1)
    servable = Servable("m", 1, doubled, runner)
    for _ in range(4 * SHORT_CALLS):
        asyncio.run(servable.predict("", {"x": np.ones((1, 4), np.float32)}))
    assert calls.any is light


class Watched(MeasuredRunner):
    """Notes the thread of each run."""

    def watch(self, session):
        self.threads, run = [], session.run

        def noted(*args, **options):
            self.threads.append(threading.current_thread())
            return run(*args, **options)

        session.run = noted
        return session


def test_light_calls_run_in_the_event_loop_with_the_same_answers_and_errors():
    doubled = session(DOUBLED)
    calls, metrics = LightCalls(doubled), Metrics(process=False)
    runner = Watched(CallThreads(1), metrics, calls, "m", 1)
    servable = Servable("m", 1, runner.watch(doubled), runner)
    x = np.ones((1, 4), np.float32)

    def answer(array):
        return asyncio.run(servable.predict("", {"x": array}))["y"].tolist()

    assert answer(x) == [[2, 2, 2, 2]]
    repeat(calls, kind(calls, (1, 4)), SHORT_CALLS)
    assert answer(x) == [[2, 2, 2, 2]]
    assert [thread is threading.main_thread() for thread in runner.threads] == [False, True]
    assert values(metrics, "tfport_stage_seconds_count") == {"queue": 2, "run": 2}
    repeat(calls, kind(calls, (1, 4)), SHORT_CALLS)
    with pytest.raises(StatusError, match="must be float32"):
        answer(np.full((1, 4), "text", object))


def recurrent():
    lstm = Session(path_of("keras_lstm"))
    return lstm, np.ones((1, 3, 2), np.float32)


def test_a_loop_that_became_a_recurrent_layer_is_steady_after_the_first_call():
    lstm, x = recurrent()
    signature, calls = lstm.model.signatures["serving_default"], LightCalls(lstm)
    assert not is_steady(lstm.model, signature)
    outputs = list(signature.outputs)
    assert calls.kind_of(signature, {"x": x}, outputs) is None
    lstm.signature("serving_default")(x=x)
    assert calls.kind_of(signature, {"x": x}, outputs) is not None


def test_a_light_call_whose_numbers_the_engine_refuses_runs_in_a_thread():
    lstm, x = recurrent()
    metrics = Metrics(process=False)
    calls = LightCalls(lstm)
    runner = Watched(CallThreads(1), metrics, calls, "m", 1)
    servable = Servable("m", 1, runner.watch(lstm), runner)
    signature = servable.signature()
    asyncio.run(servable.predict("", {"x": x}))
    repeat(calls, calls.kind_of(signature, {"x": x}, list(signature.outputs)), SHORT_CALLS)
    x[0, 1, 0] = np.nan
    assert servable.predict_at_once(signature, {"x": x}) is None
    (answer,) = asyncio.run(servable.predict("", {"x": x})).values()
    assert np.isnan(answer).all()
    # the first call, two attempts in the event loop, and the run that the host repeats
    here = [thread is threading.main_thread() for thread in runner.threads]
    assert here == [False, True, True, False]
    assert metrics.total("/tensorflow/core/graph_runs") == 2
