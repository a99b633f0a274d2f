"""Audit a bucket of many models: models per CPU second, memory, and a restart after a kill in the middle.

    python benchmarks/audit_store.py SOURCES [--models 10000] [--record docs/evidence/audit.json]

The models are made from the small ones below SOURCES: under other names, as versions of one model, one in a
hundred cut short. A moto server, a local implementation of S3's protocol, serves them; it needs
`pip install s3fs 'moto[server]'`. The audit is the command itself, in processes of its own.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from tfport.audit.store import folders_of

LARGEST = 200_000
"""Sources have at most so many bytes, so that the server has room for many."""
VERSIONS = 4
ONE_IN = 100
STEPS = 20
"""CPU seconds and memory are noted so many times."""
TARGETS = ("tensorflow==2.15.1",)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources")
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--record", metavar="FILE")
    args = parser.parse_args()
    inner, outer = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=serve, args=(outer, args.sources, args.models), daemon=True)
    server.start()
    port, sources, stored = inner.recv()
    print(f"{args.models:,} models made from {sources}, {stored / 1e6:,.0f} MB", flush=True)
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder, "audit.sqlite"))
        step = max(1, args.models // STEPS)
        first = audit(output, step, kill_at=args.models * 2 // 5)
        second = audit(output, step)
        third = audit(output, step)
        with sqlite3.connect(output) as database:
            statuses = dict(database.execute("SELECT status, COUNT(*) FROM models GROUP BY 1"))
    inner.send("count")
    record = {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, shared with other work",
        "models": args.models, "made_from": sources, "stored_bytes": stored,
        "sent_by_server_bytes": inner.recv(), "targets": TARGETS, "statuses": statuses,
        "until_killed": first, "after_restart": second, "nothing_changed": third,
    }  # fmt: skip
    print(json.dumps(record, indent=1))
    if args.record:
        Path(args.record).write_text(json.dumps(record, indent=1) + "\n")


def audit(output: str, step: int, kill_at: int | None = None) -> dict[str, object]:
    """Run the command; what it cost, and what it had used when it had examined how many models."""
    started, spent = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-m",
        "tfport",
        "audit",
        "s3://models",
        "--on",
        *TARGETS,
        "-o",
        output,
        "--json",
    ]
    before, growth, most, listed = done(output), [], 0, 0.0
    with tempfile.TemporaryFile() as report:
        process = subprocess.Popen(command, stdout=report, stderr=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None:
            time.sleep(1)
            models = done(output)
            cpu, memory = usage(process.pid)
            most = max(most, memory)
            listed = listed or (cpu if models > before else 0.0)
            if models - before >= step * (len(growth) + 1):
                growth.append({"models": models - before, "cpu_seconds": round(cpu, 1), "memory": memory})
            if kill_at is not None and models >= kill_at:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    total = resource.getrusage(resource.RUSAGE_CHILDREN)
    examined = done(output) - before
    cpu = total.ru_utime + total.ru_stime - spent.ru_utime - spent.ru_stime
    if growth and kill_at is not None:  # the workers of a killed process are not its parent's children
        cpu = float(str(growth[-1]["cpu_seconds"]))
    return {
        "examined": examined, "wall_seconds": round(time.monotonic() - started, 1),
        "cpu_seconds_of_the_audit": round(cpu, 1), "cpu_seconds_until_the_first_model": round(listed, 1),
        "most_memory_of_all_processes": most, "growth": growth,
    }  # fmt: skip


def done(output: str) -> int:
    try:
        with sqlite3.connect(f"file:{output}?mode=ro", uri=True) as database:
            return int(database.execute("SELECT COUNT(*) FROM models").fetchone()[0])
    except sqlite3.Error:
        return 0


def usage(group: int) -> tuple[float, int]:
    """The CPU seconds and the resident bytes of the processes of a group."""
    cpu, memory, tick = 0.0, 0, os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                cpu += (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) / tick
                memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):  # it ended
            continue
    return cpu, memory


# The server.


def serve(connection, sources: str, models: int) -> None:  # type: ignore[no-untyped-def]
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    sent = count_sent_bytes()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    backend.create_bucket("models", "us-east-1")
    small = list(small_models(sources))
    stored = 0
    for number in range(models):
        base, files = (
            f"team{number % 40}/model{number // VERSIONS}/{number % VERSIONS + 1}",
            small[number % len(small)],
        )
        for name, data in files.items():
            is_cut = number % ONE_IN == ONE_IN - 1 and not name.startswith("variables/")
            backend.put_object("models", f"{base}/{name}", data[: len(data) // 2] if is_cut else data)
            stored += len(data)
    connection.send((server.get_host_and_port()[1], len(small), stored))
    connection.recv()
    connection.send(sent[0])
    time.sleep(1)


def small_models(sources: str) -> Iterator[dict[str, bytes]]:
    for folder in folders_of(sources):
        if 0 < sum(folder.files.values()) <= LARGEST and len(folder.files) <= 12:
            yield {name: Path(folder.path, name).read_bytes() for name in folder.files}


def count_sent_bytes() -> list[int]:
    """The bytes of the bodies that the server sends."""
    from werkzeug.serving import WSGIRequestHandler

    sent, write = [0], WSGIRequestHandler.send_header

    def counted_header(self: WSGIRequestHandler, key: str, value: str) -> None:
        sent[0] += int(value) if key.lower() == "content-length" else 0
        write(self, key, value)

    WSGIRequestHandler.send_header = counted_header  # type: ignore[method-assign]
    return sent


if __name__ == "__main__":
    main()
