"""`make bench-serve`: `tfport serve` beside its own session and a server around TensorFlow.

    python benchmarks/serve.py [MODEL…]

Servers and clients are processes of their own on this machine, and take turns, so that a busy moment
hits all alike; numbers are medians of the turns. Clients take their part of the cores too: ratios are
what counts. REST sends images as JSON, gRPC as bytes. In the table `n` are the clients (`b`: tfport
batches), times are milliseconds. `session` is the bare session in a loop with nobody else on the machine,
`bare` the same session behind the same libraries with nothing read of the requests: no server of this kind
is faster. `t/s`, `t/b` and `t/TF` are tfport's rate by theirs and by TensorFlow's.
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
from serve_models import MODELS, Asked, asked

import tfport

TURNS, SECONDS, STARTS = 3, 2.0, 5
CLIENTS = (1, 8, 64)
SESSION = "session"
HEAD = (
    "| model | over | n | session | bare | tfport | p50, p99 | TF | p50, p99 | t/s | t/b | t/TF |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)
Found = dict[str, Any]


def worker(script: str, job: dict[str, Any]) -> Found:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**job, "seconds": SECONDS}, file)
        file.flush()
        done = subprocess.run([sys.executable, HERE / script, file.name], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{script} {job}: {done.stderr}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def session_of(one: Asked) -> Found:
    return worker("serve_session.py", {"model": str(one.model), "inputs": str(one.inputs)})


def load_of(one: Asked, server: Running, over: str, clients: int) -> Found:
    body = {"rest": one.rest, "grpc": one.grpc}[over]
    return worker("serve_load.py", {"model": one.name, "port": server.ports[over], "over": over,
                                    "clients": clients, "body": str(body)})  # fmt: skip


def middle(turns: list[Found]) -> Found:
    return {key: median(turn[key] for turn in turns) for key in turns[0]}


def same_answers(servers: list[Running]) -> None:
    """All say the same, or nothing is measured."""
    first, *others = [np.array(json.loads(server.answer)["predictions"]) for server in servers]
    for other in others:
        np.testing.assert_allclose(first, other, rtol=1e-3, atol=1e-5)


def rows(one: Asked, servers: dict[str, Running]) -> list[str]:
    """A line for each cell; tfport with batching has lines of its own, beside the same TensorFlow."""
    found = []
    for over in ("rest", "grpc"):
        for clients in CLIENTS:
            ours = (TFPORT, BATCHED) if clients == max(CLIENTS) else (TFPORT,)
            names = (BARE, *ours, TENSORFLOW)
            turns: dict[str, list[Found]] = {name: [] for name in (SESSION, *names)}
            for _ in range(TURNS):
                turns[SESSION].append(session_of(one))
                for name in names:
                    turns[name].append(load_of(one, servers[name], over, clients))
            middles = {name: middle(several) for name, several in turns.items()}
            found += [row(one.name, over, f"{clients}{'b' if name == BATCHED else ''}", middles, name)
                      for name in ours]  # fmt: skip
            print("\n".join(found[-len(ours) :]), flush=True)
    return found


def row(model: str, over: str, clients: str, middles: dict[str, Found], name: str) -> str:
    session, bare = middles[SESSION]["rate"], middles[BARE]["rate"]
    ours, theirs = middles[name], middles[TENSORFLOW]
    cells = [model.removesuffix("net_v2"), over, clients, f"{session:.0f}", f"{bare:.0f}",
             f"{ours['rate']:.0f}", _times(ours), f"{theirs['rate']:.0f}", _times(theirs),
             *(f"{ours['rate'] / other:.2f}" for other in (session, bare, theirs["rate"]))]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _times(found: Found) -> str:
    return f"{_ms(found['p50'])}, {_ms(found['p99'])}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}" if seconds < 0.01 else f"{seconds * 1e3:.0f}"


def starts(one: Asked) -> str:
    """From the start of the process to its first answer, and the memory that it has then."""
    found: dict[str, list[Found]] = {TFPORT: [], TENSORFLOW: []}
    for _ in range(STARTS):
        for name, turns in found.items():
            with running(name, one) as server:
                turns.append({"first": server.first, "resident": server.resident()})
    ours, theirs = middle(found[TFPORT]), middle(found[TENSORFLOW])
    return (f"| {one.name} | {ours['first']:.2f} | {theirs['first']:.2f} "
            f"| {theirs['first'] / ours['first']:.1f}x "
            f"| {ours['resident'] / 1e6:.0f} | {theirs['resident'] / 1e6:.0f} |")  # fmt: skip


def main(names: list[str]) -> None:
    compileall.compile_dir(next(iter(tfport.__path__)), quiet=1)  # as an installation is, and TensorFlow's
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; answers a second\n")
    print(HEAD)
    models = [asked(name) for name in names or MODELS]
    memory = []
    for one in models:
        with ExitStack() as stack:
            servers = {n: stack.enter_context(running(n, one)) for n in (BARE, TFPORT, BATCHED, TENSORFLOW)}
            same_answers(list(servers.values()))
            rows(one, servers)
            memory += [f"{one.name}: " + ", ".join(
                f"{name} {server.resident() / 1e6:.0f} MB" for name, server in servers.items())]  # fmt: skip
    print("\nafter the load", *memory, sep="\n")
    print("\n| model | tfport first s | TF first s | ratio | MB | TF MB |\n|---|---|---|---|---|---|")
    for one in models:
        print(starts(one), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
