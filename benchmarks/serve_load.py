"""Clients that send requests as fast as a server answers: `python serve_load.py JOB.json`.

Each client has its own connection and sends the next request as soon as it gets an answer. Requests are
serialized beforehand. A failed request ends the run with an error: rejecting requests is not speed.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Ask = Callable[[], Awaitable[Any]]
EACH = 3
PREDICT = "/tensorflow.serving.PredictionService/Predict"
ALONE = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1))
"""Options for channels that do not share connections."""


async def over_rest(job: dict[str, Any], body: bytes) -> None:
    import aiohttp

    url = f"http://127.0.0.1:{job['port']}/v1/models/{job['model']}:predict"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask() -> None:
            async with session.post(url, data=body) as response:
                answer = await response.read()
                if response.status != 200:
                    raise SystemExit(f"{url}: {response.status} {answer[:200]!r}")

        await measure(job, [ask] * job["clients"])


async def over_grpc(job: dict[str, Any], body: bytes) -> None:
    import grpc.aio

    channels = [grpc.aio.insecure_channel(f"127.0.0.1:{job['port']}", ALONE) for _ in range(job["clients"])]
    calls = [channel.unary_unary(PREDICT) for channel in channels]
    await measure(job, [lambda call=call: call(body) for call in calls])
    for channel in channels:
        await channel.close()


async def measure(job: dict[str, Any], clients: list[Ask]) -> None:
    """Send requests until the time is over and each client has `EACH` answers; skip the beginning."""
    began = time.perf_counter()
    enough = began + job["seconds"]
    firsts: list[float] = [began]
    answers: list[tuple[float, float]] = []

    async def client(ask: Ask) -> None:
        now, count = time.perf_counter(), 0
        while now < enough or count < EACH:
            await ask()
            sent, now = now, time.perf_counter()
            answers.append((now, now - sent))
            count += 1
            if count == 1:
                firsts.append(now)

    await asyncio.gather(*(client(ask) for ask in clients))
    start = max(began + job["seconds"] / 4, *firsts)
    end = enough if start < began + job["seconds"] / 2 else answers[-1][0]
    took = sorted(seconds for at, seconds in answers if start < at <= end)
    result = {
        "count": len(answers),
        "rate": len(took) / (end - start),
        "p50": took[len(took) // 2],
        "p99": took[len(took) * 99 // 100],
    }
    print(json.dumps(result))


def main(path: str) -> None:
    import uvloop

    job = json.loads(Path(path).read_text())
    over = over_rest if job["over"] == "rest" else over_grpc
    uvloop.run(over(job, Path(job["body"]).read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1])
