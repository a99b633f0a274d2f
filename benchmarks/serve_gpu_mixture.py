"""Several models on one GPU, some of which fail: what happens to the others?

    python benchmarks/serve_gpu_mixture.py IMAGES TEXT [--device cuda] [--seconds 10] [-o FILE.json]

IMAGES and TEXT are `resnet50_bytes` and `text_lstm` of `runtime_models.py`, real or filled
(`outlined_models.py`). One server has IMAGES three times: without a limit (`steady`), with a limit below its
weights (`tight`), and with one that suffices for one image but not for many (`bounded`); and TEXT, which is
also sent requests of a wrong type. First only `steady` and TEXT are asked, then all of them at once. Every
answer is compared with the first one.
"""

import argparse
import collections
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from serve_gpu import COMMAND, address_of, images
from serve_load import PREDICT

from tfport.formats.encoding.tensor import NUMPY, from_numpy, to_numpy
from tfport.formats.proto import serving_api_pb2, serving_pb2

STEADY, TIGHT, BOUNDED, TEXT = "steady", "tight", "bounded", "text"
LIMITS = {TIGHT: 1_000_000, BOUNDED: 700_000_000}
NUMBERS = {dtype: number for number, dtype in reversed(NUMPY.items())}
THREADS = 4
"""Clients of each kind."""


def configuration(images_model: Path, text_model: Path, folder: Path) -> Path:
    paths = {STEADY: images_model, TIGHT: images_model, BOUNDED: images_model, TEXT: text_model}
    entries = []
    for name, path in paths.items():
        base = folder / name
        base.mkdir()
        (base / "1").symlink_to(path.resolve())
        limit = f" gpu_memory_bytes: {LIMITS[name]}" if name in LIMITS else ""
        entries.append(f'config {{ name: "{name}" base_path: "{base}" model_platform: "tensorflow"{limit} }}')
    file = folder / "models.config"
    file.write_text("model_config_list {\n" + "\n".join(entries) + "\n}\n")
    return file


class Client:
    """Sends requests to one model, and counts how they end."""

    def __init__(self, port: int, model: str, inputs: dict[str, np.ndarray]) -> None:
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        channel = grpc.insecure_channel(f"127.0.0.1:{port}", options)
        self._call = channel.unary_unary(PREDICT)
        request = serving_pb2.PredictRequest()
        request.model_spec.name = model
        for name, array in inputs.items():
            request.inputs[name].CopyFrom(from_numpy(array, NUMBERS[array.dtype]))
        self._body = request.SerializeToString()
        self._first: list[np.ndarray] | None = None
        self.ended: collections.Counter[str] = collections.Counter()
        self.seconds: list[float] = []

    def ask(self) -> None:
        began = time.perf_counter()
        try:
            answer = serving_api_pb2.PredictResponse.FromString(self._call(self._body, timeout=120))
        except grpc.RpcError as error:
            self.ended[error.code().name] += 1
            self.ended[f"{error.code().name}: {error.details()[:160]}"] = 1
            time.sleep(0.05)
            return
        self.seconds.append(time.perf_counter() - began)
        found = [to_numpy(answer.outputs[name]) for name in sorted(answer.outputs)]
        self._first = self._first or found
        same = all(np.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(self._first, found, strict=True))
        self.ended["OK" if same else "DIFFERENT"] += 1


def ask_all(clients: list[Client], seconds: float) -> None:
    until = time.perf_counter() + seconds

    def loop(client: Client) -> None:
        while time.perf_counter() < until:
            client.ask()

    threads = [threading.Thread(target=loop, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ended(clients: dict[str, list[Client]]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for kind, members in clients.items():
        counts = sum((client.ended for client in members), collections.Counter())
        rows[kind] = dict(counts)
        if seconds := [s for client in members for s in client.seconds]:
            rows[kind]["p50_ms"] = round(statistics.median(seconds) * 1e3, 2)
            rows[kind]["p99_ms"] = round(sorted(seconds)[len(seconds) * 99 // 100] * 1e3, 2)
    return rows


def measure(port: int, args: argparse.Namespace) -> dict[str, Any]:
    text = {name: array.astype(object) for name, array in np.load(args.text / "inputs_1.npz").items()}
    wrong = {name: np.zeros((1, 2), np.complex64) for name in text}
    kinds: dict[str, tuple[str, dict[str, np.ndarray]]] = {
        STEADY: (STEADY, images(args.images, 1)),
        TEXT: (TEXT, text),
        TIGHT: (TIGHT, images(args.images, 1)),
        BOUNDED: (BOUNDED, images(args.images, 1)),
        "bounded, many images": (BOUNDED, images(args.images, args.many)),
        "text, wrong type": (TEXT, wrong),
    }

    def made(chosen: list[str]) -> dict[str, list[Client]]:
        return {kind: [Client(port, *kinds[kind]) for _ in range(THREADS)] for kind in chosen}

    result = {}
    for phase, chosen in (("alone", [STEADY, TEXT]), ("together", list(kinds))):
        clients = made(chosen)
        ask_all([client for members in clients.values() for client in members], args.seconds)
        result[phase] = ended(clients)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description="Serve models that fail beside models that do not.")
    parser.add_argument("images", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--many", type=int, default=1000, help="images that `bounded` has no memory for")
    parser.add_argument("-o", type=Path, help="write the results as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        file = configuration(args.images, args.text, Path(name))
        flags = [f"--model_config_file={file}", "--port=-1", "--rest_api_port=0", "--health_port=-1",
                 f"--device={args.device}", "--max_num_load_retries=0", "--log_level=warning"]  # fmt: skip
        command = [sys.executable, "-c", COMMAND, "serve", *flags]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            result = measure(address_of(server)[0], args)
            result["server still runs"] = server.poll() is None
        finally:
            server.terminate()
            server.wait(60)
    print(json.dumps(result, indent=1), flush=True)
    if args.o:
        args.o.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
