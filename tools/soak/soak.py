"""`make soak`: run a server under mixed load for half an hour and check answers, health and memory.

    python tools/soak/soak.py [--seconds 1800] [--seed 1] [--only rest,slow]

The clients of `ingredients` send good, bad, oversized, slow and abandoned requests over REST, gRPC and v2
while versions are added, removed and broken, and configurations change. At the end the server is stopped
during requests. Fails if an answer is wrong or missing, a status is not the expected one, an answer or a
health check takes too long, the level of memory, threads or open files is higher at the end than after the
warm-up, or the server does not exit. What comes late while other programs use the processors is reported, and
is no failure.
"""

import argparse
import asyncio
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import aiohttp
import grpc.aio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from clients import rest, rpc
from health import HealthLatency
from ingredients import INGREDIENTS, SOMETIMES, Client, Ingredient
from target import TIMEOUT, Late, Target, Wrong
from tests.serve.models.exports import export
from tests.serve.process import Command, text_file
from usage import BUSY, Usage

MODEL = 'config {{ name: "{}" base_path: "{}" model_platform: "tensorflow" }}'
FLAGS = (
    "--model_config_file_poll_wait_seconds=1",
    "--max_num_load_retries=0",
    "--enable_batching",
    "--port=-1",
    "--rest_api_port=-1",
)
SETTLED = ("AVAILABLE", "END")
"""States of a version that has loaded or failed, or was unloaded."""
CHANGE_SECONDS = 60
"""How long the server may take to load or unload a version."""


class Soak:
    """One soak test."""

    def __init__(self, folder: Path, seconds: float, ingredients: Sequence[Ingredient]) -> None:
        self.folder, self.seconds, self.ingredients = folder, seconds, ingredients
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.late: list[tuple[float, str]] = []
        """When an answer should have come, and what came."""
        self.usage = Usage()
        self.lag = 0.0
        """Seconds by which the soak test itself was late, at most: it shares the processors."""
        self.changes: Counter[str] = Counter()
        self.health = HealthLatency()

    def export_models(self) -> None:
        """Write the first version of every model and the configuration."""
        export(self.folder / "m", 1)
        for name, make in {**self.models, **SOMETIMES}.items():
            export(self.folder / name, 1, make())
        self.configure(*SOMETIMES)

    @property
    def models(self) -> dict[str, Callable[[], bytes]]:
        """The models, besides `m`, that are always there."""
        return {name: make for row in self.ingredients for name, make in row.models.items()}

    @property
    def flags(self) -> list[str]:
        """The server's arguments."""
        more = [flag for row in self.ingredients for flag in row.flags]
        return [f"--model_config_file={self.folder}/models.config", *FLAGS, *more]

    def configure(self, *extra: str) -> None:
        names = ["m", *self.models, *extra]
        models = " ".join(MODEL.format(name, self.folder / name) for name in names)
        text_file(self.folder / "models.config", f"model_config_list {{ {models} }}")

    async def run(self, server: Command) -> None:
        target = Target(
            server.rest,
            server.grpc,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)),
            grpc.aio.insecure_channel(f"127.0.0.1:{server.grpc}"),
            {1},
        )
        end = time.monotonic() + self.seconds
        clients = [self.run_client(target, row, end) for row in self.ingredients for _ in range(row.parallel)]
        health = self.health.watch(server.rest, server.grpc, self.seconds)
        others = [self.versions(target, end), self.sample(server, end), health]
        await asyncio.gather(*clients, *others)
        await self.drain(target, server)
        await target.session.close()
        await target.channel.close()

    async def run_client(self, target: Target, row: Ingredient, end: float) -> None:
        while time.monotonic() < end:
            await self.ask(target, row.client)
            await asyncio.sleep(random.random() * row.pause)

    async def ask(self, target: Target, client: Client) -> None:
        began = time.monotonic()
        try:
            await client(target)
            self.counts[client.__name__] += 1
        except Exception as error:
            message = str(error) if isinstance(error, Wrong) else repr(error)
            seconds = time.monotonic() - began
            self.note(
                f"{time.strftime('%X')} {client.__name__} after {seconds:.1f} s: {message}"[:300], error
            )

    def note(self, message: str, error: Exception) -> None:
        if isinstance(error, Late | TimeoutError):
            self.late.append((time.monotonic(), message))
        elif len(self.wrong) < 1000:
            self.wrong.append(message)

    async def versions(self, target: Target, end: float) -> None:
        """Add a version every few seconds, sometimes a broken one, and delete old ones."""
        number = 1
        while time.monotonic() < end - 5:
            number += 1
            broken = random.random() < 0.2
            if not broken:
                target.versions.add(number)
            export(self.folder / "m", number, b"broken" if broken else None)
            self.configure(*random.choice(((), tuple(SOMETIMES))))
            self.changes["broken" if broken else "new"] += 1
            await asyncio.sleep(3)
            await self.until_settled(target, number, SETTLED)
            if broken:
                shutil.rmtree(self.folder / "m" / str(number))
                continue
            for old in [n for n in target.versions if n < number]:
                shutil.rmtree(self.folder / "m" / str(old), ignore_errors=True)
                await self.until_settled(target, old, SETTLED[1:])
                target.versions.discard(old)

    async def until_settled(self, target: Target, version: int, states: Sequence[str]) -> None:
        """Wait until the server says that a version has loaded, or was unloaded."""
        end, url = time.monotonic() + CHANGE_SECONDS, f"{target.url}/v1/models/m/versions/{version}"
        while time.monotonic() < end:
            async with target.session.get(url) as response:
                answer = await response.json() if response.status == 200 else {}
            if any(status["state"] in states for status in answer.get("model_version_status", ())):
                return
            await asyncio.sleep(0.1)
        self.note(f"{time.strftime('%X')} version {version}: {answer}", Late())

    async def sample(self, server: Command, end: float) -> None:
        while time.monotonic() < end:
            self.usage.add(server.process.pid, self.health.pid)
            began = time.monotonic()
            await asyncio.sleep(1)
            self.lag = max(self.lag, time.monotonic() - began - 1)

    async def drain(self, target: Target, server: Command) -> None:
        """Stop the server during requests: it must answer those it has accepted."""
        requests = [asyncio.ensure_future(self.ask(target, client)) for client in (rest, rpc) * 10]
        await asyncio.sleep(0.05)
        server.process.terminate()
        await asyncio.gather(*requests)
        code = await asyncio.to_thread(server.ended)
        if code:
            self.wrong.append(f"exit code {code}")

    def late_answers(self) -> tuple[list[str], list[str]]:
        """Return what came late though the processors were free, and what while others used them."""
        slow = [
            (begin, end, f"health over {name} took {1e3 * (end - begin):.0f} ms")
            for begin, end, name in self.health.slow
        ]
        late = [*slow, *((end - TIMEOUT, end, message) for end, message in self.late)]
        shares = [(self.usage.others(begin, end), message) for begin, end, message in late]
        texts = [(share, f"{message} (others: {share:.0%} of the processors)") for share, message in shares]
        return (
            [text for share, text in texts if share < BUSY],
            [text for share, text in texts if share >= BUSY],
        )

    def report(self) -> bool:
        print("answered:", ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items())))
        print("versions:", ", ".join(f"{count} {name}" for name, count in self.changes.items()))
        slowest = ", ".join(f"{name} {1e3 * seconds:.0f} ms" for name, seconds in self.health.worst.items())
        print(f"slowest of {self.health.count} health checks: {slowest}")
        print(self.usage.report())
        print(f"the soak test itself was late by {self.lag:.1f} s at most")
        late, excused = self.late_answers()
        wrong = [*self.health.wrong, *self.wrong, *late, *self.usage.rises()]
        kinds = Counter(" ".join(re.findall(r"health over \w+|\w+(?= after)", text)) for text in excused)
        print(
            f"late on a busy machine: {len(excused)},", ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        )
        print(*(f"  {text}" for text in excused[:10]), sep="\n")
        print(f"wrong: {len(wrong)}", *wrong[:20], sep="\n  ")
        return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="comma-separated names of the clients to run (default: all)")
    parser.add_argument(
        "--samples", type=Path, help="write what was used, second by second, to this CSV file"
    )
    args = parser.parse_args()
    random.seed(args.seed)
    with tempfile.TemporaryDirectory() as name:
        soak = Soak(Path(name), args.seconds, _chosen(args.only))
        soak.export_models()
        server = Command(*soak.flags)
        try:
            asyncio.run(soak.run(server.ready()))
        except OSError as error:  # nothing listens any more
            soak.wrong.append(f"the server has ended with {server.process.poll()}: {error}")
        finally:
            server.close() if server.process.poll() is None else None
        traces = [line for line in server.lines if "Traceback" in line]
        if args.samples:
            soak.usage.write(args.samples)
        good = soak.report() and not traces
        print("\n".join(server.lines[-5:]) if traces else "", "passed" if good else "FAILED")
    return 0 if good else 1


def _chosen(names: str | None) -> list[Ingredient]:
    wanted = names.split(",") if names else [row.client.__name__ for row in INGREDIENTS]
    return [row for row in INGREDIENTS if row.client.__name__ in wanted]


if __name__ == "__main__":
    raise SystemExit(main())
