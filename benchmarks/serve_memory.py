"""`make bench-serve-memory`: the memory of servers, of `tfport serve` and of a server around TensorFlow.

    python benchmarks/serve_memory.py [MODEL…]      dense, mobilenet_v2, resnet50, or a folder of a SavedModel

Each server is asked over gRPC: for one row, for 1,000 single rows by 8 clients, then for batches of 1 to 32
rows by 4 clients. After each, its resident memory is read in megabytes; `peak` is the most it ever had.
`tfport, two versions` serves two versions at a time, of which both are asked. For `tfport, new version` a
second version appears while the first is served, which is then unloaded.
"""

import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from serve_contenders import BATCHED, TENSORFLOW, TFPORT, Running, running
from serve_load import ALONE, PREDICT
from serve_models import BenchModel, bench_model, predict_request

TWO, RENEWED = "two versions", "new version"
MODELS = ("dense", "mobilenet_v2", "resnet50")
SINGLE, SIZES, BATCHES = 1000, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32), 60
REST = 15.0
"""Seconds without requests before the memory is read."""
PATIENCE = 60.0


def megabytes(server: Running, field: str = "VmRSS") -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1000


async def ask(port: int, bodies: list[bytes], clients: int) -> None:
    """Send each body once, by several clients with connections of their own."""
    import grpc.aio

    waiting = list(bodies)

    async def client() -> None:
        options = (*ALONE, ("grpc.max_send_message_length", -1))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) as channel:
            call = channel.unary_unary(PREDICT)
            while waiting:
                await call(waiting.pop())

    await asyncio.gather(*(client() for _ in range(clients)))


def bodies_of(model: BenchModel, sizes: list[int], versions: int) -> list[bytes]:
    ((key, array),) = np.load(model.inputs).items()
    made: dict[tuple[int, int], bytes] = {}
    bodies = []
    for index, size in enumerate(sizes):
        chosen = size, index % versions
        if chosen not in made:
            rows = np.repeat(array[:1], size, axis=0)
            made[chosen] = predict_request(model.name, key, rows, chosen[1] + 1 if versions > 1 else 0)
        bodies.append(made[chosen])
    return bodies


@contextmanager
def started(kind: str, model: BenchModel) -> Iterator[Running]:
    if kind not in (TWO, RENEWED):
        with running(kind, model) as server:
            yield server
        return
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder, model.name)
        shutil.copytree(model.path, base / "1")
        served = base
        if kind == TWO:
            shutil.copytree(model.path, base / "2")
            served = Path(folder, "models.pbtxt")
            served.write_text(
                f'model_config_list {{ config {{ name: "{model.name}" base_path: "{base}"'
                ' model_platform: "tensorflow" model_version_policy { all {} } } }'
            )
        with running(TFPORT, replace(model, path=served), ["--file_system_poll_wait_seconds=1"]) as server:
            if kind == RENEWED:
                asyncio.run(ask(server.ports["grpc"], bodies_of(model, [1] * 8, 1), 2))
                shutil.copytree(model.path, Path(folder, "2"))
                Path(folder, "2").rename(base / "2")
                wait_for_version(server, 2)
            yield server


def wait_for_version(server: Running, version: int) -> None:
    """Wait until only this version is served."""
    import http.client

    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", server.ports["rest"])
        connection.request("GET", f"/v1/models/{server.model}")
        states = connection.getresponse().read().decode()
        connection.close()
        if f'"{version}"' in states and "END" in states:
            return
        time.sleep(0.2)
    raise SystemExit(f"version {version} is not served: {states}")


def measured(kind: str, model: BenchModel) -> dict[str, float]:
    chosen = random.Random(0)
    versions = 2 if kind == TWO else 1
    sizes = [chosen.choice(SIZES) for _ in range(BATCHES)]
    found: dict[str, float] = {}
    with started(kind, model) as server:
        found["first"] = megabytes(server)
        for name, asked, clients in (("1,000", [1] * SINGLE, 8), ("batches", sizes, 4)):
            asyncio.run(ask(server.ports["grpc"], bodies_of(model, asked, versions), clients))
            time.sleep(REST)
            found[name] = megabytes(server)
        found["peak"] = megabytes(server, "VmHWM")
    return found


def main(arguments: list[str]) -> None:
    kinds: dict[str, Any] = {TFPORT: "", BATCHED: "", TWO: "", RENEWED: "", TENSORFLOW: ""}
    chosen = [name for name in arguments if name in kinds] or list(kinds)
    names = [name for name in arguments if name not in kinds] or list(MODELS)
    print("| model | server | first answer | 1,000 rows | batches | peak |\n|---|---|---|---|---|---|")
    for name in names:
        model = bench_model(name)
        for kind in chosen:
            numbers = measured(kind, model)
            print(
                f"| {model.name} | {kind} | {' | '.join(f'{n:.0f}' for n in numbers.values())} |", flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:])
