"""Any bytes get an answer or a specific error, never INTERNAL or UNKNOWN."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.serve.grpc.server import _REQUESTS, TYPES, Port, serving

from tfport.formats.proto import graph_pb2
from tfport.formats.proto import serving_pb2 as pb
from tfport.serve.status import StatusCode

OURS = {StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.UNIMPLEMENTED}
FIELDS = {
    "float_val": st.floats(width=32), "double_val": st.floats(), "int_val": st.integers(-(2**31), 2**31 - 1),
    "string_val": st.binary(max_size=8), "int64_val": st.integers(-(2**63), 2**63 - 1),
    "bool_val": st.booleans(), "half_val": st.integers(-5, 2**17), "scomplex_val": st.floats(width=32),
    "dcomplex_val": st.floats(),
    "uint32_val": st.integers(0, 2**32 - 1), "uint64_val": st.integers(0, 2**64 - 1),
}  # fmt: skip
SIZES = st.integers(-1, 4) | st.sampled_from([2**31, 2**62])
NAMES = st.sampled_from(["x", "y", "inputs", "a", "b", "", "z"])
DTYPES = st.sampled_from(graph_pb2.DataType.values()) | st.integers(-5, 200)


@pytest.fixture(scope="module")
def port() -> Iterator[tuple[Port, asyncio.AbstractEventLoop]]:
    """One server for all tests, in its own thread."""
    loop, ready, done = asyncio.new_event_loop(), Future[Port](), asyncio.Event()

    async def serve() -> None:
        async with serving() as port:
            ready.set_result(port)
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    yield ready.result(60), loop
    loop.call_soon_threadsafe(done.set)
    thread.join()
    loop.close()


@st.composite
def tensors(draw: Any) -> graph_pb2.TensorProto:
    out = graph_pb2.TensorProto(dtype=draw(DTYPES))
    for size in draw(st.lists(SIZES, max_size=4)):
        out.tensor_shape.dim.add(size=size)
    out.tensor_shape.unknown_rank = draw(st.sampled_from([False, False, False, True]))
    field = draw(st.sampled_from([*FIELDS, "tensor_content", ""]))
    if field == "tensor_content":
        out.tensor_content = draw(st.binary(max_size=24))
    elif field:
        getattr(out, field).extend(draw(st.lists(FIELDS[field], max_size=6)))
    return out


@st.composite
def specs(draw: Any) -> pb.ModelSpec:
    spec = pb.ModelSpec(
        name=draw(st.sampled_from(["half", "echo", "pair", "examples", "default", "sparse", "x", ""]))
    )
    spec.signature_name = draw(st.sampled_from(["", "serving_default", "regress", *TYPES]))
    choice = draw(st.sampled_from(["", "", "version", "label"]))
    if choice == "version":
        spec.version.value = draw(st.sampled_from([1, 2, 7, -1, 2**63 - 1]))
    elif choice == "label":
        spec.version_label = draw(st.sampled_from(["stable", "", "\x00"]))
    return spec


@st.composite
def predicts(draw: Any) -> bytes:
    request = pb.PredictRequest(model_spec=draw(specs()))
    for name in draw(st.lists(NAMES, max_size=3)):
        request.inputs[name].CopyFrom(draw(tensors()))
    request.output_filter.extend(draw(st.lists(NAMES, max_size=2)))
    return request.SerializeToString()


@st.composite
def of_examples(draw: Any) -> bytes:
    request = pb.ClassificationRequest(model_spec=draw(specs()))
    rows = draw(st.lists(st.binary(max_size=12), max_size=3))
    inner = b"".join(b"\x0a" + bytes([len(row)]) + row for row in rows)
    field = draw(st.sampled_from([b"\x0a", b"\x12", b"\x1a"]))
    given_input = field + bytes([len(inner)]) + inner
    return request.SerializeToString() + b"\x12" + bytes([len(given_input)]) + given_input


@st.composite
def damaged(draw: Any) -> bytes:
    """A request with some bytes changed, removed or added."""
    data = bytearray(draw(predicts()))
    for at, value in draw(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4)):
        if at < len(data):
            data[at] = value
    return bytes(data[: draw(st.integers(0, len(data)))]) + draw(st.binary(max_size=4))


CALLS = st.one_of(
    st.tuples(st.just("Predict"), predicts() | damaged()),
    st.tuples(st.sampled_from(["Classify", "Regress"]), of_examples()),
    st.tuples(st.sampled_from(sorted(_REQUESTS)), st.binary(max_size=40)),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(call=CALLS)
def test_every_message_is_answered_or_refused_for_a_reason(port, call):
    name, data = call
    there, loop = port
    code = asyncio.run_coroutine_threadsafe(_code(there, name, data), loop).result(60)
    assert code not in OURS


async def _code(port: Port, name: str, data: bytes) -> StatusCode:
    import grpc

    try:
        await port.ask(name, data)
    except grpc.aio.AioRpcError as error:
        return StatusCode[error.code().name]
    return StatusCode.OK
