"""Requests that are sent together: each client gets its own rows, or its own error."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
from tests.serve.models.exports import export, saved_model
from tests.serve.process import PATIENCE, PREDICT, command

from tfport.formats.encoding.tensor import to_numpy
from tfport.formats.proto import serving_api_pb2, serving_pb2
from tfport.serve.front_ends.alike_requests import LARGE, AlikeRequests
from tfport.serve.front_ends.messages import CallAnswer
from tfport.serve.front_ends.request_groups import RequestGroups
from tfport.serve.grpc.service import Caller
from tfport.serve.status import StatusCode

COLUMNS = LARGE // 4
NOBODY = Caller({}, "")
X = "x = Placeholder() {dtype=float32, shape=(?, ?)}\n"
ONE = "one = Const() {dtype=int32, value=int32()[1]}\n"
MODELS = {
    "checked": X + 'y = CheckNumerics(x) {T=float32, message="NaN"}',
    "integers": X + ONE + "s = Sum(x, one) {T=float32, Tidx=int32}\n y = Cast(s) {SrcT=float32, DstT=int64}",
    "texts": X + ONE + "s = Max(x, one) {T=float32, Tidx=int32}\n y = AsString(s) {T=float32, precision=1}",
    "no rows": X
    + "axes = Const() {dtype=int32, value=int32(2)[0, 1]}\n y = Sum(x, axes) {T=float32, Tidx=int32}",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, text in MODELS.items():
        export(folder / name, 1, saved_model(text, {"serving_default": "y:0"}))
    config = folder / "models.config"
    entries = (
        f'config {{ name: "{n}" base_path: "{folder / n}" model_platform: "tensorflow" }}' for n in MODELS
    )
    config.write_text(f"model_config_list {{ {' '.join(entries)} }}")
    with command(f"--model_config_file={config}", "--grpc_processes=1", "--enable_batching") as running:
        yield running


def request_of(name, array):
    request = serving_pb2.PredictRequest()
    request.model_spec.name = name
    tensor = request.inputs["x"]
    tensor.dtype = 1
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    tensor.tensor_content = array.tobytes()
    return request.SerializeToString()


def answers_of(server, name, arrays):
    def ask(array):
        try:
            data = channel.unary_unary(PREDICT)(request_of(name, array), timeout=PATIENCE)
        except grpc.RpcError as error:
            return error.code().name
        return to_numpy(serving_api_pb2.PredictResponse.FromString(data).outputs["y"])

    with server.channel() as channel, ThreadPoolExecutor(len(arrays)) as pool:
        return list(pool.map(ask, arrays))


ARRAYS = [
    np.full((rows, COLUMNS), i, np.float32) for i, rows in enumerate([1, 2, 1, 1, 3, 1, 1, 1, 2, 1, 1, 1])
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("checked", lambda a: a),
        ("integers", lambda a: a.sum(1).astype(np.int64)),
        ("texts", lambda a: np.array([f"{v:.1f}".encode() for v in a.max(1)], object)),
        ("no rows", lambda a: a.sum()),
    ],
)
def test_each_client_gets_its_rows(server, name, expected):
    for array, answer in zip(ARRAYS, answers_of(server, name, ARRAYS), strict=True):
        np.testing.assert_array_equal(answer, expected(array))


def test_only_the_request_that_is_wrong_fails(server):
    arrays = [*ARRAYS[:3], np.full((1, COLUMNS), np.nan, np.float32), *ARRAYS[3:]]
    answers = answers_of(server, "checked", arrays)
    assert [type(answer) is str for answer in answers] == [bool(np.isnan(a).any()) for a in arrays]
    assert answers[3] == "INVALID_ARGUMENT"


class Recorder:
    """A server that answers nothing until it is told to."""

    def __init__(self):
        self.alone, self.together, self.open = [], [], asyncio.Event()

    async def ask(self, request):
        self.alone.append(request.rows)
        await self.open.wait()
        return CallAnswer(0, 0, b"one")

    async def ask_together(self, requests, message):
        self.together.append([request.rows for request in requests])
        await self.open.wait()
        return CallAnswer(0, StatusCode.ABORTED.number, "")


async def turns():
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_requests_wait_while_two_groups_are_with_the_server_and_aborted_ones_go_alone():
    async def test():
        server = Recorder()
        groups = RequestGroups(server.ask, server.ask_together, most_rows=3, tensor_content=False)
        requests, tasks = AlikeRequests(), []
        for _ in range(2):
            tasks.append(asyncio.ensure_future(groups.answer(requests.read(data, NOBODY))))
            await turns()
        assert server.alone == [1, 1]
        tasks += [asyncio.ensure_future(groups.answer(requests.read(data, NOBODY))) for _ in range(7)]
        await turns()
        assert (server.alone, server.together) == ([1, 1], [])
        server.open.set()
        answers = await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
        assert {answer.content for answer in answers} == {b"one"}
        assert len(server.alone) == 9
        assert all(group == [1, 1, 1] for group in server.together)
        assert 1 <= len(server.together) <= 2  # after ABORTED, all go alone

    data = request_of("m", np.zeros((1, COLUMNS), np.float32))
    asyncio.run(test())
