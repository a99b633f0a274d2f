"""`make bench-serve`: compare `tfport serve` with its bare session and with a server around TensorFlow.

    python benchmarks/serve.py [MODEL…]             dense, mobilenet_v2, or a folder of a SavedModel

Servers and clients are separate processes on this machine. They take turns, so that other load affects all
of them equally; numbers are medians. Clients use the same cores, so only ratios are meaningful. REST sends
images as JSON, gRPC as bytes. In the table, `n` is the number of clients (`b`: with batching), times are in
milliseconds, `us` is the processor time of a server per request in microseconds: what to compare on a busy
machine, where a server with more threads gets more of the processors, and so answers more requests.
`session` is the session in a loop without any server, `bare` the same session behind the same libraries
without reading the requests: an upper bound for such a server. `t/s`, `t/b` and `t/TF` are ratios of tfport's
rate to that of the session, the bare server and TensorFlow.
"""

import compileall
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from statistics import median
from typing import Any

import numpy as np
from serve_contenders import BARE, BATCHED, HERE, TENSORFLOW, TFPORT, Running, running
from serve_models import MODELS, BenchModel, bench_model

import tfport

TURNS, SECONDS, STARTS = 3, 2.0, 5
CLIENTS = (1, 8, 64)
SESSION = "session"
HEAD = (
    "| model | over | n | session | bare | us | tfport | us | p50, p99 | TF | us | p50, p99 "
    "| t/s | t/b | t/TF |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)
Measured = dict[str, Any]


def worker(script: str, job: dict[str, Any]) -> Measured:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**job, "seconds": SECONDS}, file)
        file.flush()
        done = subprocess.run([sys.executable, HERE / script, file.name], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{script} {job}: {done.stderr}")
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    return measured


def session_of(model: BenchModel) -> Measured:
    return worker("serve_session.py", {"model": str(model.path), "inputs": str(model.inputs)})


def load_of(model: BenchModel, server: Running, over: str, clients: int) -> Measured:
    body = {"rest": model.rest, "grpc": model.grpc}[over]
    before = server.processor_seconds()
    measured = worker("serve_load.py", {"model": model.name, "port": server.ports[over], "over": over,
                                        "clients": clients, "body": str(body)})  # fmt: skip
    return {**measured, "cpu": (server.processor_seconds() - before) / measured["count"]}


def middle(turns: list[Measured]) -> Measured:
    return {key: median(turn[key] for turn in turns) for key in turns[0]}


def same_answers(servers: list[Running]) -> None:
    """Check that all servers give the same answer."""
    first, *others = [np.array(json.loads(server.answer)["predictions"]) for server in servers]
    for other in others:
        np.testing.assert_allclose(first, other, rtol=1e-3, atol=1e-5)


def rows(model: BenchModel, servers: dict[str, Running]) -> list[str]:
    """Print and return a line per combination; tfport with batching has separate lines."""
    lines = []
    for over in ("rest", "grpc"):
        for clients in CLIENTS:
            ours = (TFPORT, BATCHED) if clients == max(CLIENTS) else (TFPORT,)
            names = (BARE, *ours, TENSORFLOW)
            turns: dict[str, list[Measured]] = {name: [] for name in (SESSION, *names)}
            for _ in range(TURNS):
                turns[SESSION].append(session_of(model))
                for name in names:
                    turns[name].append(load_of(model, servers[name], over, clients))
            middles = {name: middle(several) for name, several in turns.items()}
            lines += [row(model.name, over, f"{clients}{'b' if name == BATCHED else ''}", middles, name)
                      for name in ours]  # fmt: skip
            print("\n".join(lines[-len(ours) :]), flush=True)
    return lines


def row(model: str, over: str, clients: str, middles: dict[str, Measured], name: str) -> str:
    bare, ours, theirs = middles[BARE], middles[name], middles[TENSORFLOW]
    others = middles[SESSION]["rate"], bare["rate"], theirs["rate"]
    cells = [model.removesuffix("net_v2"), over, clients, f"{others[0]:.0f}", *_work(bare),
             *_work(ours), _times(ours), *_work(theirs), _times(theirs),
             *(f"{ours['rate'] / rate:.2f}" for rate in others)]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _work(measured: Measured) -> list[str]:
    return [f"{measured['rate']:.0f}", f"{measured['cpu'] * 1e6:.0f}"]


def _times(measured: Measured) -> str:
    return f"{_ms(measured['p50'])}, {_ms(measured['p99'])}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}" if seconds < 0.01 else f"{seconds * 1e3:.0f}"


def starts(model: BenchModel) -> str:
    """Return a line with the time from process start to first answer, and the memory then."""
    measured: dict[str, list[Measured]] = {TFPORT: [], TENSORFLOW: []}
    for _ in range(STARTS):
        for name, turns in measured.items():
            with running(name, model) as server:
                turns.append({"first": server.first, "resident": server.resident()})
    ours, theirs = middle(measured[TFPORT]), middle(measured[TENSORFLOW])
    return (f"| {model.name} | {ours['first']:.2f} | {theirs['first']:.2f} "
            f"| {theirs['first'] / ours['first']:.1f}x "
            f"| {ours['resident'] / 1e6:.0f} | {theirs['resident'] / 1e6:.0f} |")  # fmt: skip


def main(names: list[str]) -> None:
    # compiled like an installed package, as TensorFlow is
    compileall.compile_dir(next(iter(tfport.__path__)), quiet=1)
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; answers per second\n")
    print(HEAD)
    models = [bench_model(name) for name in names or MODELS]
    memory = []
    for model in models:
        with ExitStack() as stack:
            servers = {n: stack.enter_context(running(n, model)) for n in (BARE, TFPORT, BATCHED, TENSORFLOW)}
            same_answers(list(servers.values()))
            rows(model, servers)
            memory += [f"{model.name}: " + ", ".join(
                f"{name} {server.resident() / 1e6:.0f} MB" for name, server in servers.items())]  # fmt: skip
    print("\nafter the load", *memory, sep="\n")
    print("\n| model | tfport first s | TF first s | ratio | MB | TF MB |\n|---|---|---|---|---|---|")
    for model in models:
        print(starts(model), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
