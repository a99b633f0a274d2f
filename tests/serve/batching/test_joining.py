"""Any sizes, shapes, types and failures: each request gets the answer it would get alone."""

import asyncio

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serve.batching.batched_models import batched, session_of

from tfport.serve.servable import run_signature
from tfport.serve.status import StatusCode, StatusError

# y and z work by rows and have different types; NaN fails
PROGRAM = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    k = Placeholder() {dtype=int64, shape=(?)}
    c = CheckNumerics(x) {T=float32, message="NaN"}
    last = Const() {dtype=int32, value=int32(1)[1]}
    total = Sum(c, last) {T=float32, Tidx=int32}
    y = Mul(c, c) {T=float32}
    f = Cast(total) {SrcT=float32, DstT=int64}
    z = AddV2(f, k) {T=int64}
"""
SESSION = session_of(PROGRAM, {"x": "x:0", "k": "k:0"}, {"y": "y:0", "z": "z:0"})
OUTPUTS = [(), ("y",), ("z",), ("z", "y")]


@st.composite
def requests(draw):
    rows, width = draw(st.integers(0, 9)), draw(st.integers(0, 3))
    first = draw(st.integers(0, 1000))
    x = np.float32(first) + np.arange(rows * width, dtype=np.float32).reshape(rows, width)
    if x.size and draw(st.integers(0, 5)) == 0:
        x.flat[-1] = np.nan
    k = np.arange(first, first + rows + (draw(st.integers(0, 9)) == 0), dtype=np.int64)
    if draw(st.integers(0, 9)) == 0:
        k = k.astype(np.float64)
    return (
        {"x": x, "k": k},
        draw(st.sampled_from(OUTPUTS)),
        draw(st.integers(0, 2)),
        draw(st.integers(0, 9)) == 0,
    )


@st.composite
def settings_of_batches(draw):
    size = draw(st.integers(1, 8))
    text = f"max_batch_size {{ value: {size} }} max_enqueued_batches {{ value: 1000 }}"
    text += f" num_batch_threads {{ value: {draw(st.integers(1, 3))} }}"
    text += f" batch_timeout_micros {{ value: {draw(st.sampled_from([0, 0, 1000]))} }}"
    if draw(st.booleans()):
        largest = draw(st.integers(1, size))
        text += (
            f" enable_large_batch_splitting {{ value: true }} max_execution_batch_size {{ value: {largest} }}"
        )
    if draw(st.booleans()):
        sizes = sorted(draw(st.sets(st.integers(1, size))) | {size})
        text += f" allowed_batch_sizes: {sizes}"
    return text, size


async def _ask(servable, inputs, outputs, pause, cancelled):
    for _ in range(pause):
        await asyncio.sleep(0)
    call = asyncio.ensure_future(servable.predict("", inputs, outputs))
    if cancelled:
        await asyncio.sleep(0)
        call.cancel()
    return await call


def alone(inputs, outputs):
    try:
        return run_signature(
            SESSION, SESSION.model.signatures["serving_default"], inputs, outputs or ("y", "z")
        )
    except StatusError as error:
        return error


@settings(max_examples=150, deadline=None)
@given(st.lists(requests(), min_size=1, max_size=12), settings_of_batches())
def test_every_request_gets_its_own_rows(asked, batching):
    text, size = batching
    servable = batched(SESSION, text)
    unseen = []

    async def all_at_once():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        return await asyncio.gather(*(_ask(servable, *request) for request in asked), return_exceptions=True)

    for (inputs, outputs, _, cancelled), answer in zip(asked, asyncio.run(all_at_once()), strict=True):
        expected = alone(inputs, outputs)
        rows = {len(value) for value in inputs.values()}
        if isinstance(answer, asyncio.CancelledError):
            assert cancelled
        elif len(rows) == 1 and max(rows) > size:
            assert answer.code is StatusCode.INVALID_ARGUMENT
            assert "larger than maximum" in answer.message
        elif isinstance(expected, Exception):
            assert isinstance(answer, StatusError)
            assert answer.code is StatusCode.INVALID_ARGUMENT
        else:
            assert not isinstance(answer, Exception), answer
            assert list(answer) == list(expected)
            for name, value in expected.items():
                assert answer[name].dtype == value.dtype
                np.testing.assert_array_equal(answer[name], value)
    assert not unseen
    assert servable.running == 0
    assert not any(lane.users or lane.queue for lane in servable.runner._lanes.values())
    servable.runner.scheduler._pool.shutdown()


@st.composite
def lengths(draw):
    rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    return np.float32(draw(st.integers(1, 100))) + np.arange(rows * width, dtype=np.float32).reshape(
        rows, width
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(lengths(), min_size=1, max_size=8))
def test_padded_requests_get_their_rows_and_their_first_element_behind(asked):
    text = "x = Placeholder() {dtype=float32, shape=(?, ?)}\ny = Neg(x) {T=float32}"
    session = session_of(text, {"x": "x:0"}, {"y": "y:0"})
    servable = batched(session, "max_batch_size { value: 9 } pad_variable_length_inputs: true")

    async def all_at_once():
        return await asyncio.gather(*(servable.predict("", {"x": x}) for x in asked))

    for x, answer in zip(asked, asyncio.run(all_at_once()), strict=True):
        rows, width = x.shape
        assert len(answer["y"]) == rows
        np.testing.assert_array_equal(answer["y"][:, :width], -x)
        assert (answer["y"][:, width:] == -x[0, 0]).all()
    servable.runner.scheduler._pool.shutdown()
