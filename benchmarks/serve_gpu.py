"""`make bench-serve-gpu`: how much of a GPU's throughput `tfport serve` reaches over gRPC.

    python benchmarks/serve_gpu.py MODEL [--processes 8] [--rows 1] [--seconds 20] [-o FILE.json]

MODEL is a SavedModel of `runtime_models.py`, real or filled (`outlined_models.py`), with images as input:
`resnet50` takes float32 (602 kB an image), `resnet50_bytes` takes uint8 (151 kB).
First the session alone, with inputs and outputs in device memory; then with batches that are assembled from
rows in pinned memory, two at a time; then the server in another process, with
batching and front ends, and clients in several processes. Each client sends its next request as soon as it
has an answer. Last, the same clients with as many processes that only read requests (`serve_nothing.py`).
`--device cpu` tries all of it without a GPU.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SIZES = (8, 16, 32, 48, 64)
SIGNATURE = "serving_default"
DTYPES = {"float32": 1, "uint8": 4}
"""TensorFlow's numbers of the types that images have."""
COMMAND = "from tfport.cli.main import main; raise SystemExit(main())"
METRICS = "/monitoring/prometheus/metrics"
START_SECONDS = 150


def on_device(path: Path, device: str, seconds: float = 2.0) -> dict[str, float]:
    """Rows per second by batch size, with inputs and outputs in device memory."""
    import tfport
    from tfport.runtime.engines.gpu.device_array import DeviceArray

    bound = tfport.Session(str(path), device=device).bind(SIGNATURE)
    rates = {}
    for size in SIZES:
        inputs: dict[str, Any] = images(path, size)
        if device != "cpu":
            import onnxruntime as ort

            memory = {n: ort.OrtValue.ortvalue_from_numpy(a, "cuda", 0) for n, a in inputs.items()}
            inputs = {name: DeviceArray(value) for name, value in memory.items()}
        for _ in range(6):
            bound(**inputs)
        times = []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until or len(times) < 3:
            began = time.perf_counter()
            bound(**inputs)  # returns when the GPU has computed
            times.append(time.perf_counter() - began)
        rates[str(size)] = round(size / statistics.median(times))
    return rates


def assembled(path: Path, device: str, seconds: float = 3.0) -> dict[str, float]:
    """Rows per second by batch size, from rows in pinned memory to answers: as in the server."""
    import tfport
    from tfport.runtime.bounds.stop_signal import StopSignal
    from tfport.runtime.engines.gpu.pinned_memory import pin
    from tfport.serve.batching.joining import run_joined
    from tfport.serve.front_ends.shared_blocks import SharedBlocks

    session = tfport.Session(str(path), device=device)
    signature = session.model.signatures[SIGNATURE]
    blocks = SharedBlocks.create(64 * 2**20)
    if device != "cpu":
        pin(blocks.bytes, session.engine.uploads.copies)
    ((name, row),) = images(path, 1).items()
    rates = {}
    for size in SIZES:
        requests = [{name: blocks.bytes[i * row.nbytes :][: row.nbytes].view(row.dtype).reshape(row.shape)}
                    for i in range(size)]  # fmt: skip
        arguments = (session, signature, requests, size, size, list(signature.outputs), StopSignal())
        for _ in range(4):
            run_joined(*arguments)
        counts, until = [0, 0], time.perf_counter() + seconds

        def run(thread: int, arguments: Any = arguments, counts: Any = counts, until: float = until) -> None:
            while time.perf_counter() < until:
                run_joined(*arguments)
                counts[thread] += 1

        threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rates[str(size)] = round(sum(counts) * size / seconds)
    return rates


def images(path: Path, rows: int) -> dict[str, np.ndarray]:
    examples = np.load(path / "inputs_1.npz")
    return {name: random_like(examples[name], rows) for name in examples}


def random_like(example: np.ndarray, rows: int) -> np.ndarray:
    """Rows of the same type: bytes from 0 to 255, or numbers from 0 to 1."""
    random, shape = np.random.default_rng(0), (rows, *example.shape[1:])
    if example.dtype == np.uint8:
        return random.integers(0, 256, shape, np.uint8)
    return random.random(shape, np.float32)


def request(path: Path, rows: int) -> bytes:
    from tfport.formats.proto import serving_pb2 as pb

    message = pb.PredictRequest()
    message.model_spec.name = "model"
    for name, array in images(path, rows).items():
        tensor = message.inputs[name]
        tensor.dtype = DTYPES[array.dtype.name]
        for size in array.shape:
            tensor.tensor_shape.dim.add(size=size)
        tensor.tensor_content = array.tobytes()
    return message.SerializeToString()


def batching(folder: Path, timeout_micros: int, threads: int) -> Path:
    sizes = "".join(f"allowed_batch_sizes: {size}\n" for size in SIZES)
    path = folder / "batching.txt"
    sizes += f"num_batch_threads {{ value: {threads} }}\n" if threads else ""
    path.write_text(
        f"max_batch_size {{ value: {SIZES[-1]} }}\n{sizes}max_enqueued_batches {{ value: 100 }}\n"
        f"batch_timeout_micros {{ value: {timeout_micros} }}\n"
    )
    return path


def started(args: argparse.Namespace, folder: Path) -> tuple[subprocess.Popen[str], int, int]:
    """Start the server; return it with its gRPC port and its health port."""
    monitoring = folder / "monitoring.txt"
    monitoring.write_text(f'prometheus_config {{ enable: true path: "{METRICS}" }}')
    parameters = batching(folder, args.timeout_micros, args.threads)
    flags = [
        "--model_name=model", "--port=-1", "--rest_api_port=0", "--health_port=-1", f"--device={args.device}",
        "--enable_batching", f"--batching_parameters_file={parameters}",
        f"--grpc_processes={args.processes}", f"--monitoring_config_file={monitoring}",
        f"--precision={args.precision}", "--log_level=warning",
        *(["--require_gpu"] if args.device != "cpu" else []),
    ]  # fmt: skip
    command = [sys.executable, "-c", COMMAND, "serve", str(args.model), *flags]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    return server, *address_of(server)


def address_of(server: subprocess.Popen[str]) -> tuple[int, int]:
    """The gRPC port and the health port of a server that starts."""
    assert server.stderr is not None
    until, lines = time.monotonic() + START_SECONDS, []
    for line in server.stderr:
        lines.append(line)
        match = re.search(r"gRPC at [^ ]*?:(\d+).*health at http://[^ ]*?:(\d+)", line)
        if match:
            return int(match[1]), int(match[2])
        if time.monotonic() > until:
            break
    server.kill()
    raise SystemExit(f"the server does not start:\n{''.join(lines)}")


def load(args: argparse.Namespace, port: int, body: Path, seconds: float) -> dict[str, float]:
    """Requests per second of all client processes together, and their latencies."""
    shares = [len(range(index, args.clients, args.senders)) for index in range(args.senders)]
    senders = []
    for index, clients in enumerate(shares):
        job = {"model": "model", "port": port, "over": "grpc", "clients": clients, "body": str(body)}
        path = body.parent / f"job{index}.json"
        path.write_text(json.dumps({**job, "seconds": seconds}))
        command = [sys.executable, str(HERE / "serve_load.py"), str(path)]
        senders.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    answers = [json.loads(sender.communicate(timeout=seconds * 4 + 60)[0]) for sender in senders]
    return {
        "requests_per_second": round(sum(answer["rate"] for answer in answers)),
        "p50_ms": round(statistics.median(answer["p50"] for answer in answers) * 1e3, 2),
        "p99_ms": round(max(answer["p99"] for answer in answers) * 1e3, 2),
    }


def processor_seconds(server: int) -> dict[str, float]:
    """Processor time of the server and of its front ends together."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    times = {pid: _seconds(int(pid)) for pid in (str(server), *children)}
    main = times.pop(str(server))
    return {"server": main, "front_ends": sum(times.values())}


def _clients_seconds() -> float:
    """Processor time of the client processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def batches(port: int) -> dict[str, float]:
    """Sums and counts of what the server measured."""
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}{METRICS}", timeout=10).read().decode()
    found = {}
    for name in ("tfport_batch_rows", "tfport_stage_seconds"):
        for labels, kind, value in re.findall(rf"{name}_(?=sum|count)(sum|count)\{{(.*?)\}} (\S+)", page):
            stage = re.search(r'stage="(\w+)"', kind)
            found[f"{stage[1] if stage else 'rows'}_{labels}"] = float(value)
    return found


def means(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    names = {name.rpartition("_")[0] for name in after}
    change = {name: after[name] - before.get(name, 0.0) for name in after}
    return {n: round(change[f"{n}_sum"] / max(change[f"{n}_count"], 1), 5) for n in sorted(names)}


def served(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        body = folder / "request.pb"
        body.write_bytes(request(args.model, args.rows))
        server, port, health = started(args, folder)
        try:
            load(args, port, body, 2.0)
            times, measured = processor_seconds(server.pid), batches(health)
            began, clients = time.perf_counter(), _clients_seconds()
            result: dict[str, Any] = load(args, port, body, args.seconds)
            wall = time.perf_counter() - began
            used = {k: round((v - times[k]) / wall, 2) for k, v in processor_seconds(server.pid).items()}
            used["clients"] = round((_clients_seconds() - clients) / wall, 2)
            result |= {"cores": used, "means": means(measured, batches(health))}
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()
    result["rows_per_second"] = result["requests_per_second"] * args.rows
    return result


def network(args: argparse.Namespace) -> dict[str, Any]:
    """What the clients reach with as many processes that only read their requests."""
    with tempfile.TemporaryDirectory() as name:
        body = Path(name, "request.pb")
        body.write_bytes(request(args.model, args.rows))
        command = [sys.executable, str(HERE / "serve_nothing.py"), str(args.processes)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as servers:
            assert servers.stdin is not None
            assert servers.stdout is not None
            port = int(servers.stdout.readline())
            time.sleep(2)  # they import gRPC
            result: dict[str, Any] = load(args, port, body, args.seconds)
            servers.stdin.close()
    return result | {"rows_per_second": result["requests_per_second"] * args.rows}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure `tfport serve` on a GPU.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="tf32")
    parser.add_argument("--processes", type=int, default=8, help="front ends")
    parser.add_argument("--senders", type=int, default=6, help="client processes")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rows", type=int, default=1, help="images in each request")
    parser.add_argument("--timeout-micros", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--only", choices=["device", "assembled", "served", "network"])
    parser.add_argument("--threads", type=int, default=0, help="batches in flight; 0 for the default")
    parser.add_argument("-o", type=Path, help="write the results as JSON")
    args = parser.parse_args()
    chosen = {key: value for key, value in vars(args).items() if key not in ("model", "o", "only")}
    result: dict[str, Any] = {"model": args.model.name, "cores": os.cpu_count(), **chosen}
    if args.only in (None, "device"):
        result["on_device"] = on_device(args.model, args.device)
    if args.only in (None, "assembled"):
        result["assembled"] = assembled(args.model, args.device)
    if args.only in (None, "served"):
        result["served"] = served(args)
    if args.only in (None, "network"):
        result["network"] = network(args)
    if not args.only:
        result["ratio"] = round(result["served"]["rows_per_second"] / max(result["on_device"].values()), 3)
    print(json.dumps(result), flush=True)
    if args.o:
        args.o.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
