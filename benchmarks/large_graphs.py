"""Measure how `tfport ui` draws large graphs: time to the first picture, and frames per second while panning.

    python benchmarks/large_graphs.py [--rounds 3]

Two graphs are generated: 100,000 nodes in name scopes, which are closed at first, and 20,000 nodes without
scopes. *Received* is the time from opening the page until the last answer with a part of the graph, *painted*
until the graph is drawn; *frames* are those of three seconds of panning in the first view, and with the
whole graph in view. Medians of all rounds are printed. Needs `playwright` in this Python, and Chromium.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from tfport.formats.proto.graph_pb2 import GraphDef
from tfport.web.model_store import model_id

OPS = ("Relu", "Tanh", "Neg", "Sigmoid", "Abs")
LIMIT_MS = 180_000
ANSWERS = """performance.getEntriesByType('resource')
  .filter(entry => entry.name.includes('/graphs/')).map(entry => entry.responseEnd)"""
PAN = """() => new Promise(done => {
  const canvas = document.querySelector('.graph-canvas'), box = canvas.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2, began = performance.now();
  const send = (type, dx, dy) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, clientX: x + dx, clientY: y + dy, button: 0, buttons: 1, bubbles: true}));
  canvas.setPointerCapture = () => {};
  let frames = 0;
  send('pointerdown', 0, 0);
  requestAnimationFrame(function step(now) {
    frames += 1;
    send('pointermove', 200 * Math.sin(frames / 20), 150 * Math.cos(frames / 20));
    if (now - began < 3000) return requestAnimationFrame(step);
    send('pointerup', 0, 0);
    done(frames / (now - began) * 1000);
  });
})"""


class Drawn(NamedTuple):
    """What one page took: seconds, and frames per second."""

    received: float
    painted: float
    frames: float
    frames_of_all: float


def write_graph(path: Path, count: int, *, scoped: bool) -> None:
    """A chain with short cuts, as residual networks have them."""
    graph = GraphDef()
    graph.versions.producer = 27
    names: list[str] = []
    for number in range(count):
        name = f"block{number // 1000}/layer{number // 50 % 20}/op{number}" if scoped else f"op{number}"
        inputs = [names[-1], names[-7]] if number % 5 == 0 and number > 6 else names[-1:]
        op = ("Placeholder", OPS[number % 5], "AddV2")[len(inputs)]
        node = graph.node.add(name=name, op=op, input=inputs)
        node.attr["T" if inputs else "dtype"].type = 1
        names.append(name)
    path.write_bytes(graph.SerializeToString())


def drawn(browser: Browser, address: str) -> Drawn:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(LIMIT_MS)
    page.goto(address)
    page.wait_for_function("() => performance.getEntriesByName('tfport-graph-painted').length > 0")
    painted = page.evaluate("performance.getEntriesByName('tfport-graph-painted')[0].startTime")
    received = max(answer for answer in page.evaluate(ANSWERS) if answer <= painted)
    frames = page.evaluate(PAN)
    whole = frames_of_all(page)
    page.close()
    return Drawn(received / 1000, painted / 1000, frames, whole)


def frames_of_all(page: Page) -> float:
    page.get_by_role("button", name="Fit").click()
    page.wait_for_timeout(600)  # it moves there
    frames: float = page.evaluate(PAN)
    return frames


def measured(browser: Browser, model: Path, rounds: int) -> list[Drawn]:
    command = [sys.executable, "-m", "tfport", "ui", "--no-browser", str(model)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address is not None
            return [
                drawn(browser, f"{address[0]}&/model/{model_id(str(model))}/graph") for _ in range(rounds)
            ]
        finally:
            server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how `tfport ui` draws large graphs.")
    parser.add_argument("--rounds", type=int, default=3, help="pages per graph (default: 3)")
    rounds = parser.parse_args().rounds
    print("| graph | received, s | painted, s | frames/s | frames/s, whole graph |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for label, count, scoped in (("in scopes", 100_000, True), ("without scopes", 20_000, False)):
            model = Path(folder).resolve() / f"{count}.pb"
            write_graph(model, count, scoped=scoped)
            results = measured(browser, model, rounds)
            received, painted, frames, whole = (
                statistics.median(column) for column in zip(*results, strict=True)
            )
            print(
                f"| {count:,} nodes {label} | {received:.2f} | {painted:.2f} | {frames:.0f} | {whole:.0f} |"
            )
        browser.close()


if __name__ == "__main__":
    main()
