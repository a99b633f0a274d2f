"""Helpers: a REST server with small models, and a client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from tests.serve.ports import Gate, run_with
from tests.serve.signature_models import Ends, signed

from tfport.graph.model import Model
from tfport.runtime.session import Session
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.server import RestServer
from tfport.serve.servable import Servable, ThreadRunner
from tfport.serve.status import StatusCode

TYPES = [
    *("float32", "float64", "float16", "bfloat16", "bool", "string"),
    *("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"),
]
UNREADABLE = ["complex64", "uint16"]
"""Types that TensorFlow Serving does not convert to JSON."""
ECHO = "\n".join(
    f"x_{t} = Placeholder() {{dtype={t}, shape=(...)}}\ny_{t} = Identity(x_{t}) {{T={t}}}"
    for t in [*TYPES, *UNREADABLE]
)
HALF_PLUS = """
    x = Placeholder() {{dtype=float32, shape=(?)}}
    half = Const() {{dtype=float32, value=float32()[0.5]}}
    more = Const() {{dtype=float32, value=float32()[{more}]}}
    halved = Mul(x, half) {{T=float32}}
    y = AddV2(halved, more) {{T=float32}}
"""
PAIRS = """
    a = Placeholder() {dtype=float32, shape=(?, 2)}
    b = Placeholder() {dtype=int64, shape=(?)}
    s = Placeholder() {dtype=string, shape=(?)}
    doubled = AddV2(a, a) {T=float32}
    next = AddV2(b, b) {T=int64}
    text = Identity(s) {T=string}
    text_bytes = Identity(s) {T=string}
    total = Sum(b, zero) {T=int64}
    zero = Const() {dtype=int32, value=int32()[0]}
"""
EXAMPLES = """
    serialized = Placeholder() {dtype=string, shape=(?)}
    names = Const() {dtype=string, value=string(0,)[]}
    x_key = Const() {dtype=string, value=string()["x"]}
    default = Const() {dtype=float32, value=float32(1,)[7.0]}
    parsed = ParseExample(serialized, names, x_key, default) {Nsparse=0, Ndense=1, sparse_types=[], Tdense=[float32], dense_shapes=[(1)]}
    label = AsString(parsed) {T=float32}
"""  # noqa: E501


def half_plus(more: float) -> Model:
    ends: Ends = {"x": "x:0"}, {"y": "y:0"}
    return signed(HALF_PLUS.format(more=more), {"serving_default": ends})


def models() -> dict[str, Model]:
    pairs = {"a": "a:0", "b": "b:0", "s": "s:0"}
    answers = {"doubled": "doubled:0", "next": "next:0", "text": "text:0", "text_bytes": "text_bytes:0"}
    return {
        "echo": signed(ECHO, {t: ({"x": f"x_{t}:0"}, {"y": f"y_{t}:0"}) for t in [*TYPES, *UNREADABLE]}),
        "pairs": signed(
            PAIRS,
            {"serving_default": (pairs, answers), "total": ({"b": "b:0"}, {"t": "total:0", "n": "next:0"})},
        ),
        "examples": signed(
            EXAMPLES,
            {
                "scores": ({"inputs": "serialized:0"}, {"scores": "parsed:0"}),
                "classes": ({"inputs": "serialized:0"}, {"scores": "parsed:0", "classes": "label:0"}),
                "serving_default": ({"inputs": "serialized:0"}, {"outputs": "parsed:0"}),
            },
        ),
    }


@dataclass
class Port:
    """A running server, and a client."""

    front: RestServer
    catalog: ModelCatalog
    client: aiohttp.ClientSession
    port: int
    gate: Gate

    async def ask(self, method: str, path: str, body: object = None, **more: Any) -> tuple[int, Any]:
        """Return the status and the JSON of an answer."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        async with self.client.request(method, path, data=data, **more) as response:
            text = await response.read()
            is_json = response.headers["Content-Type"] == "application/json"
            return response.status, json.loads(text) if is_json and text else text


@asynccontextmanager
async def serving(options: RestOptions | None = None, **more: Any) -> AsyncIterator[Port]:
    with ThreadPoolExecutor(2) as pool:
        runner = ThreadRunner(pool)
        gate, catalog = Gate(runner), ModelCatalog()
        for version in (1, 2):
            session = Session(half_plus(version))
            catalog.publish(Servable("half", version, session, runner))
        catalog.publish(Servable("gated", 1, session, gate))
        catalog.set_labels("half", {"stable": 1})
        catalog.set_status(
            "broken", VersionStatus(3, VersionState.END, StatusCode.UNKNOWN, "the file is cut off")
        )
        for name, model in models().items():
            catalog.publish(Servable(name, 7, Session(model), runner))
        front = RestServer(
            catalog, **({"ready": lambda: True} | more), options=options or RestOptions(port=0)
        )
        port = await front.start()
        scheme = "https" if front.options.tls else "http"
        try:
            async with aiohttp.ClientSession(f"{scheme}://127.0.0.1:{port}") as client:
                yield Port(front, catalog, client, port, gate)
        finally:
            gate.open.set()
            await front.stop(5)


def with_port(
    test: Callable[[Port], Awaitable[None]], options: RestOptions | None = None, **more: Any
) -> None:
    """Run a test against its own server."""
    run_with(serving(options, **more), test)


ASK = "/v1/models/half:predict"
BODY = b'{"instances": [1]}'
HEAD = b"POST /v1/models/half:predict HTTP/1.1\r\nHost: x\r\n"


async def raw(port: Port, sent: bytes, *, half_closed: bool = False) -> bytes:
    """Return everything received on a new connection until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
    writer.write(sent)
    await writer.drain()
    if half_closed:
        writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer
