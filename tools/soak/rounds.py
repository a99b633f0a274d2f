"""Stop a server under load, again and again, after bursts and files overwritten in place: nothing is lost.

    python tools/soak/rounds.py [--rounds 10] [--calls 4000]

In each round, clients call over REST and gRPC without a pause. Meanwhile another client sends many calls at
once, and files of the loaded version and of one that loads are overwritten in place; then SIGTERM arrives.
Prints a row for each round. Fails if an answer is wrong, a call that was sent before the signal is not
answered, a later one gets anything but a refusal, or the server does not exit with 0.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import aiohttp
import grpc.aio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.serve.models.exports import export
from tests.serve.models.weighted import SIGNATURES, weighted
from tests.serve.process import FREE, PREDICT, Command, predict_request, text_file

from tfport.formats.proto import serving_api_pb2

DATA = "variables/variables.data-00000-of-00001"
CLIENTS = 8
"""Over REST, and as many over gRPC."""
SECONDS = 1.0
"""Of load before a burst, and before the signal."""
PATIENCE = 600
"""Seconds for a call: the tool is about lost calls, not late ones."""
MODELS = """model_config_list {{
    config {{ name: "weighted" base_path: "{0}/weighted" model_platform: "tensorflow"
        model_version_policy {{ all {{}} }} }}
    config {{ name: "m" base_path: "{0}/m" model_platform: "tensorflow" }} }}"""
COLUMNS = ("answered", "burst answered", "burst refused", "refused", "not connected", "lost", "wrong")
BAD = ("lost", "wrong")


class Round:
    """One server, from its start to its end."""

    def __init__(self, folder: Path, number: int, calls: int) -> None:
        self.folder, self.number, self.calls = folder, number, calls
        self.counts: Counter[str] = Counter()
        self.examples: list[str] = []
        self.signaled = float("inf")
        self.code: int | None = None
        weighted(folder / "weighted/1", number)
        export(folder / "m", 1)
        weighted(folder / "new", number + 100, rows=10)
        self.config = text_file(folder / "models.config", MODELS.format(folder))

    async def run(self) -> None:
        flags = ("--file_system_poll_wait_seconds=1", "--max_num_load_retries=0", *FREE)
        server = Command(f"--model_config_file={self.config}", *flags).ready()
        try:
            async with aiohttp.ClientSession(
                f"http://127.0.0.1:{server.rest}", timeout=aiohttp.ClientTimeout(PATIENCE)
            ) as session:
                await self._under_load(server, session)
        finally:
            server.close() if server.process.poll() is None else None

    async def _under_load(self, server: Command, session: aiohttp.ClientSession) -> None:
        channels = [self._channel(server) for _ in range(CLIENTS)]
        clients = [self._loop(self._rest, session) for _ in range(CLIENTS)]
        clients += [self._loop(self._grpc, channel) for channel in channels]
        load = [asyncio.ensure_future(client) for client in clients]
        await asyncio.sleep(SECONDS)
        await asyncio.gather(self._burst(server), asyncio.to_thread(self._overwrite))
        await asyncio.sleep(SECONDS)
        self.signaled = time.monotonic()
        server.process.terminate()
        self.code = await asyncio.to_thread(server.ended)
        await asyncio.gather(*load, *(channel.close() for channel in channels))
        if "Traceback" in server.output:
            self._note("wrong", server.output[-300:])

    def _channel(self, server: Command) -> grpc.aio.Channel:
        own = [("grpc.use_local_subchannel_pool", 1)]
        return grpc.aio.insecure_channel(f"127.0.0.1:{server.grpc}", own)

    async def _loop(self, call, connection) -> None:  # type: ignore[no-untyped-def]
        """Call until the server cannot be reached."""
        while True:
            sent = time.monotonic()
            name, message = await call(connection)
            if name in ("refused", "not connected") and sent < self.signaled:
                name = "lost"
            self._note(name, message)
            if name == "not connected":
                return

    async def _rest(self, session: aiohttp.ClientSession) -> tuple[str, str]:
        signature = SIGNATURES[self.counts["answered"] % len(SIGNATURES)]
        request = {"signature_name": signature, "instances": [1299, 0]}
        try:
            async with session.post("/v1/models/weighted/versions/1:predict", json=request) as response:
                status, body = response.status, json.loads(await response.read())
        except (aiohttp.ClientConnectionError, ConnectionError) as error:
            return "not connected", repr(error)
        if status == 503:
            return "refused", str(body)
        right = (200, {"predictions": [float(self.number)] * 2})
        return ("answered", "") if (status, body) == right else ("wrong", f"{status} {body}")

    async def _grpc(self, channel: grpc.aio.Channel) -> tuple[str, str]:
        try:
            data = await channel.unary_unary(PREDICT)(
                predict_request(2).SerializeToString(), timeout=PATIENCE
            )
        except grpc.aio.AioRpcError as error:
            message = f"{error.code().name} {error.details()}"
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                return "wrong", message
            return ("refused" if "the server " in message else "not connected"), message
        values = list(serving_api_pb2.PredictResponse.FromString(data).outputs["y"].float_val)
        return ("answered", "") if values == [3.0] else ("wrong", str(values))

    async def _burst(self, server: Command) -> None:
        """Send many calls at once: each is answered or refused because there are too many."""
        channel, data = self._channel(server), predict_request(2).SerializeToString()
        calls = (channel.unary_unary(PREDICT)(data, timeout=PATIENCE) for _ in range(self.calls))
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(answer, bytes):
                self._note("burst answered")
            elif isinstance(answer, grpc.aio.AioRpcError) and answer.code().name == "RESOURCE_EXHAUSTED":
                self._note("burst refused")
            else:
                self._note("lost", repr(answer)[:300])
        await channel.close()

    def _overwrite(self) -> None:
        """Change files that the server has loaded, and those of a version while it loads."""
        loaded = self.folder / "weighted/1" / DATA
        how = self.number % 4
        if how == 0:
            shutil.copyfile(self.folder / "new" / DATA, loaded)
        elif how == 1:
            shutil.copyfile(weighted(self.folder / "same", self.number + 200) / DATA, loaded)
        elif how == 2:
            os.truncate(loaded, 0)
        else:
            loaded.unlink()
        later = weighted(self.folder / "later", self.number + 300)
        later = later.rename(self.folder / "weighted/2")
        for _ in range(20):
            shutil.copyfile(self.folder / "new" / DATA, later / DATA)
            time.sleep(0.05)

    def _note(self, name: str, message: str = "") -> None:
        self.counts[name] += 1
        if name in BAD and len(self.examples) < 5:
            self.examples.append(f"{name}: {message}")

    def row(self) -> str:
        return " | ".join(
            [f"{self.number:5}", *(f"{self.counts[name]:{len(name)}}" for name in COLUMNS), str(self.code)]
        )

    def good(self) -> bool:
        return self.code == 0 and not any(self.counts[name] for name in BAD)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=4000, help="calls of a burst")
    args = parser.parse_args()
    print(" | ".join(("round", *COLUMNS, "exit code")), flush=True)
    good = True
    for number in range(1, args.rounds + 1):
        with tempfile.TemporaryDirectory() as name:
            one = Round(Path(name), number, args.calls)
            asyncio.run(one.run())
        print(one.row(), *one.examples, sep="\n  ", flush=True)
        good &= one.good()
    print("passed" if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
