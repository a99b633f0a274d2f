"""Helpers: a server of the Open Inference Protocol on real ports, with small models."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.recorded_models import path_of
from tests.serve.signature_models import signed

import tfport
from tfport.graph.model import Model
from tfport.runtime.session import Session
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.server import GrpcServer
from tfport.serve.model_catalog import ModelCatalog, VersionState, VersionStatus
from tfport.serve.rest.options import RestOptions
from tfport.serve.rest.server import RestServer
from tfport.serve.servable import Servable, ThreadRunner
from tfport.serve.status import StatusCode
from tfport.serve.v2 import grpc as v2_grpc
from tfport.serve.v2 import rest

TYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "FP16": "float16",
    "FP32": "float32", "FP64": "float64", "BF16": "bfloat16", "BYTES": "string",
}  # fmt: skip
SUMS = """
    a = Placeholder() {dtype=float32, shape=(?, 3)}
    b = Placeholder() {dtype=float32, shape=(?, 3)}
    sum = AddV2(a, b) {T=float32}
    difference = Sub(a, b) {T=float32}
"""
CASTS = """
    x = Placeholder() {dtype=float32, shape=(?)}
    y = Cast(x) {SrcT=float32, DstT=complex64}
    z = Identity(x) {T=float32}
"""
LIMIT = 8 * 2**20


def models() -> dict[str, Model]:
    ends = {"a": "a:0", "b": "b:0"}, {"sum": "sum:0", "difference": "difference:0"}
    echoes = [
        f"x_{t} = Placeholder() {{dtype={t}, shape=(...)}}\n y_{t} = Identity(x_{t})" for t in TYPES.values()
    ]
    real, odd = ({"x": "x:0"}, {"z": "z:0"}), ({"x": "x:0"}, {"y": "y:0"})
    return {
        "sums": signed(SUMS, {"serving_default": ends, "only_sum": (ends[0], {"sum": "sum:0"})}),
        "echo": signed(
            "\n".join(echoes).replace("\n ", "\n"),
            {name: ({"x": f"x_{t}:0"}, {"y": f"y_{t}:0"}) for name, t in TYPES.items()},
        ),
        "complex": signed(CASTS, {"only": real, "odd": odd}),
        "strings": tfport.load(path_of("strings")),
        "sparse": tfport.load(path_of("sparse")),
    }


def catalog_of(pool: ThreadPoolExecutor) -> ModelCatalog:
    """Every model as version 7, `sums` also as version 8, and one that failed to load."""
    catalog = ModelCatalog()
    for name, model in models().items():
        session = Session(model)
        for version in (7, 8) if name == "sums" else (7,):
            catalog.publish(Servable(name, version, session, ThreadRunner(pool)))
    catalog.set_labels("sums", {"stable": 7})
    catalog.set_status(
        "broken", VersionStatus(1, VersionState.END, StatusCode.INVALID_ARGUMENT, "no variables")
    )
    catalog.add("awaited")
    return catalog


class Counted:
    """Records the requests that the server reports: model, call, entry point, code."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str, str]] = []

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        self.requests.append((model, api, entrypoint, code.name))

    def __getattr__(self, name: str):
        return lambda *_, **__: None


@dataclass
class Server:
    rest: int
    grpc: int
    catalog: ModelCatalog
    is_ready: bool = True
    counted: Counted = field(default_factory=Counted)


@contextmanager
def serving() -> Iterator[Server]:
    """Serve both protocols on their own ports, in a separate event loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    with ThreadPoolExecutor(2) as pool:
        server = Server(0, 0, catalog_of(pool))
        stop = asyncio.run_coroutine_threadsafe(_start(server), loop).result()
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _start(server: Server):
    def ready() -> bool:
        return server.is_ready

    options = RestOptions(port=0, most_bytes=LIMIT, metrics=server.counted)
    extra = rest.routes(server.catalog, ready, options)
    local = RestServer(server.catalog, ready=ready, options=options, extra_routes=extra)
    remote = GrpcServer(
        server.catalog,
        reload=_no_reload,
        options=GrpcOptions(port=0, observers=Observers(server.counted)),
        more=[v2_grpc.service(server.catalog, ready)],
        files=[v2_grpc.file_descriptor],
    )
    server.rest, server.grpc = await local.start(), await remote.start()

    async def stop() -> None:
        await remote.stop()
        await local.stop()

    return stop


async def _no_reload(_: object) -> None:
    raise NotImplementedError
