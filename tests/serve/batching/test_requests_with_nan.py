"""A request with NaN, which the engine's recurrent kernels refuse, does not send others to the host."""

import asyncio

import numpy as np
import pytest
from tests.recorded_models import path_of
from tests.serve.batching.batched_models import ONE_THREAD, batched

from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.session import Session
from tfport.serve.batching.joining import is_finite


class CountedSession(Session):
    """Notes the rows of each run of the engine, and of each run that the host repeats."""

    def __init__(self):
        self.rows = {"engine": [], "host": []}
        engine = make_engine("onnxruntime", 1)
        compiled = engine.compile

        def compile_counted(*arguments):
            run = compiled(*arguments)

            def counted(arrays):
                self.rows["engine"].append(len(arrays[0]))
                return run(arrays)

            return counted

        engine.compile = compile_counted
        super().__init__(path_of("keras_lstm"), engine=engine)

    def _run_on_host(self, key, inputs, error):
        self.rows["host"].append(len(inputs[0]))
        return super()._run_on_host(key, inputs, error)


def requests_of(session, *rows, broken=()):
    ((name, spec),) = session.model.signatures["serving_default"].inputs.items()
    random, shape = np.random.default_rng(0), [size or 3 for size in spec.shape.dims[1:]]
    made = [{name: random.normal(size=(count, *shape)).astype(np.float32)} for count in rows]
    for index in broken:
        made[index][name].flat[0] = np.nan
    return made


async def answers_of(servable, requests):
    return await asyncio.gather(*(servable.predict("", request) for request in requests))


def alone(session, request):
    return session.signature("serving_default")(**request)


def assert_same(session, requests, answers):
    for request, answer in zip(requests, answers, strict=True):
        for name, array in alone(session, request).items():
            np.testing.assert_allclose(answer[name], array, rtol=1e-5, atol=1e-7, equal_nan=True)


def test_finite_requests_run_together_in_the_engine_and_those_with_nan_on_the_host():
    session = CountedSession()
    requests = requests_of(session, 1, 1, 1, 1, broken=[1, 2])
    servable = batched(session, ONE_THREAD)
    answers = asyncio.run(answers_of(servable, requests))
    # all together, those that are finite, and those with NaN
    assert session.rows == {"engine": [4, 2, 2], "host": [2]}
    assert_same(session, requests, answers)
    assert [bool(np.isnan(next(iter(answer.values()))).any()) for answer in answers] == [
        False,
        True,
        True,
        False,
    ]


def test_later_requests_with_nan_never_share_a_run_with_others():
    session = CountedSession()
    servable = batched(session, ONE_THREAD)
    asyncio.run(answers_of(servable, requests_of(session, 1, 1, broken=[0])))
    for counts in session.rows.values():
        counts.clear()
    requests = requests_of(session, 1, 2, 1, broken=[1])
    answers = asyncio.run(answers_of(servable, requests))
    assert session.rows == {"engine": [2, 2], "host": [2]}
    assert_same(session, requests, answers)


def test_finite_requests_are_not_examined_before_the_engine_refuses_one(monkeypatch):
    session = CountedSession()
    servable = batched(session, ONE_THREAD)
    monkeypatch.setattr("tfport.serve.batching.runner.is_finite", pytest.fail)
    asyncio.run(answers_of(servable, requests_of(session, 1, 2)))
    assert session.rows == {"engine": [3], "host": []}


def test_pieces_of_a_request_with_nan_are_answered_too():
    session = CountedSession()
    requests = requests_of(session, 3, 3, broken=[1])
    split = "enable_large_batch_splitting { value: true } max_execution_batch_size { value: 2 }"
    answers = asyncio.run(answers_of(batched(session, ONE_THREAD + split), requests))
    assert session.rows["host"] == [1]  # the piece with NaN
    assert_same(session, requests, answers)


def test_requests_with_nan_are_not_joined_by_front_ends_after_the_first():
    session = CountedSession()
    servable = batched(session, ONE_THREAD)
    signature = servable.signature()
    good, bad = requests_of(session, 1, 1, broken=[1])

    def joins(request):
        return servable.joins(signature, request, list(signature.outputs))

    assert joins(bad)
    asyncio.run(answers_of(servable, [good, bad]))
    assert [joins(good), joins(bad)] == [True, False]


@pytest.mark.parametrize(
    ("array", "finite"),
    [
        (np.float32([1, 2]), True),
        (np.float16([1, np.inf]), False),
        (np.complex64([1, complex(0, np.nan)]), False),
        (np.int64([1]), True),
        (np.array([b"nan"], object), True),
        (np.zeros((0, 3), np.float32), True),
    ],
)
def test_what_is_finite(array, finite):
    assert is_finite({"x": array, "y": np.array([True])}) is finite
