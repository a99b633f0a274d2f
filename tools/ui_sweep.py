"""Open many models through the API of a running `tfport ui`, and count what it answers.

    python tools/ui_sweep.py [PATH…]     these models (default: those that tools/real_models.py downloaded)

For each model: open it, its overview, every graph, nodes of each op, searches, stored tensors, assets, the
matrix, and a check of two targets. A table has, for each request, how many models it answered, and the
slowest and largest answers; answers of 5xx, and whatever the server printed, come after it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import real_models

TARGETS = ["tensorflow==1.15.5", "tensorflow==2.21.0"]
MOST_GRAPHS, MOST_NODES, MOST_TENSORS = 50, 40, 20
QUERIES = ("op:Const", "dtype:float32", "attr:T=DT_FLOAT", "conv", "name:a -op:Const")
LIMIT_S = 300


class Asked(NamedTuple):
    """One request and its answer."""

    route: str
    model: Path
    status: int
    seconds: float
    size: int
    sentence: str
    """The error, if it is one."""


class Api:
    """The API of a server, with everything that was asked."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._headers = port, {"Authorization": f"Bearer {token}"}
        self.asked: list[Asked] = []

    def ask(self, route: str, model: Path, path: str, body: Any = None, method: str = "GET") -> Any:
        """The document of an answer; None if the server refused."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LIMIT_S)
        began = time.perf_counter()
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, f"/api/v1{path}", data, self._headers)
            response = connection.getresponse()
            status, answer = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            status, answer = 599, json.dumps({"error": repr(error)}).encode()
        finally:
            connection.close()
        document = json.loads(answer)
        sentence = document["error"] if status >= 400 else ""
        took = time.perf_counter() - began
        self.asked.append(Asked(route, model, status, took, len(answer), sentence))
        return document if status < 400 else None

    def look_at(self, path: Path) -> None:
        """Everything that the page asks about a model."""
        entry = self.ask("open", path, "/models", {"path": str(path)}, "POST")
        if entry is None:
            return
        at = f"/models/{entry['id']}"
        overview = self.ask("overview", path, f"{at}/inspect") or {}
        listed = self.ask("graphs", path, f"{at}/graphs") or {"graphs": []}
        for graph in listed["graphs"][:MOST_GRAPHS]:
            one = f"{at}/graphs/{quote(graph['id'], safe='')}"
            columns = self.ask("graph", path, one)
            for name in some_nodes(columns or {"op": []}):
                self.ask("node", path, f"{one}/node?name={quote(name, safe='')}")
        for query in QUERIES:
            self.ask("search", path, f"{at}/search?q={quote(query)}")
        for tensor in (overview.get("checkpoint") or [])[:MOST_TENSORS]:
            self.ask("tensor", path, f"{at}/tensor?key={quote(tensor['key'], safe='')}")
        for asset in overview.get("assets") or []:
            self.ask("asset", path, f"{at}/asset?file={quote(asset['file'], safe='')}")
        self.ask("matrix", path, f"{at}/matrix")
        self.ask("check", path, f"{at}/check", {"targets": TARGETS}, "POST")
        side = {"model": entry["id"]}
        self.ask("diff", path, "/diff", {"a": side, "b": side}, "POST")


def some_nodes(columns: dict[str, Any]) -> Iterator[str]:
    """The first node of each op."""
    first: dict[int, int] = {}
    for index, op in enumerate(columns["op"]):
        first.setdefault(op, index)
    yield from (columns["names"][index] for index in list(first.values())[:MOST_NODES])


def downloaded() -> list[Path]:
    places = [package.folder / path for package in real_models.packages() for _, path in package.models]
    return [place for place in places if place.exists()]


def table(asked: list[Asked]) -> Iterator[str]:
    yield "| request | models answered | requests | refused | 5xx | slowest, s | largest, MB |"
    yield "|---|---|---|---|---|---|---|"
    for route in dict.fromkeys(one.route for one in asked):
        mine = [one for one in asked if one.route == route]
        models, bad = {one.model for one in mine}, {one.model for one in mine if one.status >= 400}
        refused, failed = (sum(low <= one.status < low + 100 for one in mine) for low in (400, 500))
        slow, large = max(one.seconds for one in mine), max(one.size for one in mine)
        counts = f"{len(models - bad)} of {len(models)} | {len(mine):,} | {refused} | {failed}"
        yield f"| {route} | {counts} | {slow:.2f} | {large / 1e6:.2f} |"


def peak_memory(pid: int) -> str:
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return f"{int(found[1]) / 1e3:,.0f} MB" if found else "unknown"


def main() -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--all", action="store_true", help="print every request that was refused")
    args = parser.parse_args()
    models = [path.resolve() for path in args.paths] or downloaded()
    allow = [f"--allow={folder}" for folder in {path.parent for path in models}]
    command = [sys.executable, "-m", "tfport", "ui", "--no-browser", *allow]
    with tempfile.TemporaryFile("w+") as printed:
        server = subprocess.Popen(command, stderr=printed)
        try:
            api = Api(*address(printed))
            for model in models:
                began = time.perf_counter()
                api.look_at(model)
                print(f"{time.perf_counter() - began:6.1f} s  {model}", file=sys.stderr, flush=True)
            print("\n".join(table(api.asked)))
            print(f"\n{len(models)} models; peak memory of the server: {peak_memory(server.pid)}")
        finally:
            server.terminate()
            server.wait()
        printed.seek(0)
        unexpected = printed.read().split("\n", 2)[2].replace("tfport ui: stopped\n", "")
    wrong = [one for one in api.asked if one.status >= (400 if args.all else 500) or one.route == "open"]
    for one in wrong:
        if one.status >= 400:
            print(f"{one.status} {one.route} {one.model}: {one.sentence}")
    print(unexpected)
    return 1 if unexpected or any(one.status >= 500 for one in wrong) else 0


def address(printed: Any) -> tuple[int, str]:
    """The port and the token that the server printed."""
    for _ in range(600):
        printed.seek(0)
        if found := re.search(r":(\d+)/#token=(\S+)", printed.read()):
            return int(found[1]), found[2]
        time.sleep(0.1)
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
