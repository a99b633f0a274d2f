"""A minimal server for comparison.

    run(name, port, rest_port, rows, message)

It uses the same libraries as `tfport serve`: one event loop (uvloop), aiohttp and grpc.aio, and a pool with
one thread per core, in which `rows` answers REST bodies and `message` answers gRPC Predict messages.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import uvloop
from aiohttp import web

LARGEST = 1 << 28
Answer = Callable[[bytes], bytes]


def run(name: str, port: str, rest_port: str, rows: Answer, message: Answer) -> None:
    uvloop.run(_serve(name, port, rest_port, rows, message))


async def _serve(name: str, port: str, rest_port: str, rows: Answer, message: Answer) -> None:
    loop, pool = asyncio.get_running_loop(), ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    async def over_rest(request: web.Request) -> web.Response:
        answer = await loop.run_in_executor(pool, rows, await request.read())
        return web.Response(body=answer, content_type="application/json")

    async def over_grpc(data: bytes, context: object) -> bytes:
        return await loop.run_in_executor(pool, message, data)

    predict = grpc.unary_unary_rpc_method_handler(over_grpc)
    front = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    front.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("tensorflow.serving.PredictionService", {"Predict": predict})]
    )
    front.add_insecure_port(f"127.0.0.1:{port}")
    await front.start()
    app = web.Application(client_max_size=LARGEST)
    app.router.add_post(f"/v1/models/{name}:predict", over_rest)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(rest_port)).start()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await front.stop(0)
    await runner.cleanup()
