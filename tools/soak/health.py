"""Ask for a server's health all the time, as probes do, and measure the slowest answers.

    python tools/soak/health.py REST_PORT GRPC_PORT SECONDS

Over REST and gRPC, each time on a new connection; in its own process, so that only the server's time counts.
"""

import asyncio
import http.client
import json
import sys
import time
from pathlib import Path
from typing import Any

import grpc

CHECK = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"
INTERVAL = 0.1
"""Seconds between two probes."""
PATIENCE = 30


SLOW = 1.0
"""Seconds from which a health check is too slow."""


class HealthLatency:
    """The slowest answers of the probes in seconds, those that were too slow, and wrong ones."""

    def __init__(self) -> None:
        self.worst: dict[str, float] = {}
        self.count = 0
        self.slow: list[tuple[float, float, str]] = []
        """When a slow check began and ended, and over what it was."""
        self.wrong: list[str] = []
        self.pid = 0

    async def watch(self, rest_port: int, grpc_port: int, seconds: float) -> None:
        """Probe for some time, in another process."""
        command = [sys.executable, str(Path(__file__)), *map(str, (rest_port, grpc_port, seconds))]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        self.pid = process.pid
        output, _ = await process.communicate()
        vars(self).update(json.loads(output))


def probe(ports: dict[str, int], seconds: float) -> dict[str, Any]:
    """Return what `HealthLatency` has."""
    probes, end = {"REST": _rest, "gRPC": _grpc}, time.monotonic() + seconds
    worst, count, slow, wrong = dict.fromkeys(ports, 0.0), 0, [], []
    while time.monotonic() < end:
        for name, port in ports.items():
            began = time.monotonic()
            try:
                probes[name](port)
            except Exception as error:
                wrong.append(f"{time.strftime('%X')} health over {name}: {error!r}"[:300])
            ended = time.monotonic()
            worst[name] = max(worst[name], ended - began)
            slow += [(began, ended, name)] if ended - began > SLOW else []
            count += 1
        time.sleep(INTERVAL)
    return {"worst": worst, "count": count, "slow": slow, "wrong": wrong}


def _rest(port: int) -> None:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    client.request("GET", "/v1/health/live")
    status = client.getresponse().status
    client.close()
    if status != 200:
        raise ValueError(f"status {status}")


def _grpc(port: int) -> None:
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        if channel.unary_unary(CHECK)(b"", timeout=PATIENCE) != SERVING:
            raise ValueError("not serving")


if __name__ == "__main__":
    print(json.dumps(probe({"REST": int(sys.argv[1]), "gRPC": int(sys.argv[2])}, float(sys.argv[3]))))
