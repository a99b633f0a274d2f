"""Clients that ask a server as fast as it answers: `python serve_load.py JOB.json`.

Each of so many clients has a connection of its own and asks again as soon as it is answered. Requests
are bytes made beforehand. An answer that is none ends the run with an error: a server that refuses
is not fast.
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
"""Channels that share no connection."""


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
    """Ask until the time is over and all were answered `EACH` times; the beginning does not count."""
    began = time.perf_counter()
    enough = began + job["seconds"]
    firsts: list[float] = [began]
    answers: list[tuple[float, float]] = []

    async def one(ask: Ask) -> None:
        now, count = time.perf_counter(), 0
        while now < enough or count < EACH:
            await ask()
            asked, now = now, time.perf_counter()
            answers.append((now, now - asked))
            count += 1
            if count == 1:
                firsts.append(now)

    await asyncio.gather(*(one(ask) for ask in clients))
    start = max(began + job["seconds"] / 4, *firsts)
    end = enough if start < began + job["seconds"] / 2 else answers[-1][0]
    took = sorted(seconds for at, seconds in answers if start < at <= end)
    found = {
        "rate": len(took) / (end - start),
        "p50": took[len(took) // 2],
        "p99": took[len(took) * 99 // 100],
    }
    print(json.dumps(found))


def main(path: str) -> None:
    import uvloop

    job = json.loads(Path(path).read_text())
    over = over_rest if job["over"] == "rest" else over_grpc
    uvloop.run(over(job, Path(job["body"]).read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1])
