"""Ask for the server's health all the time, as probes do.

Over REST and gRPC, each time on a new connection.
"""

import asyncio
import time

import aiohttp
import grpc.aio
from target import Target, Wrong

CHECK = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"
INTERVAL = 0.1
"""Seconds between two probes."""
PROBE_TIMEOUT = 30


class HealthLatency:
    """The slowest answers of the probes, and wrong ones."""

    def __init__(self) -> None:
        self.worst = {"REST": 0.0, "gRPC": 0.0}
        self.count = 0
        self.wrong: list[str] = []

    async def watch(self, target: Target, end: float) -> None:
        """Probe until the end."""
        probes = {"REST": _rest, "gRPC": _grpc}
        while time.monotonic() < end:
            for name, probe in probes.items():
                began = time.monotonic()
                try:
                    await asyncio.wait_for(probe(target), PROBE_TIMEOUT)
                except Exception as error:
                    self.wrong.append(f"{time.strftime('%X')} health over {name}: {error!r}"[:300])
                self.worst[name] = max(self.worst[name], time.monotonic() - began)
                self.count += 1
            await asyncio.sleep(INTERVAL)


async def _rest(target: Target) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{target.url}/v1/health/live") as response,
    ):
        if response.status != 200:
            raise Wrong(f"status {response.status}")


async def _grpc(target: Target) -> None:
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{target.grpc}", options) as channel:
        if await channel.unary_unary(CHECK)(b"") != SERVING:
            raise Wrong("not serving")
