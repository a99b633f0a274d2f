"""Measure `tfport ui`, Netron and Model Explorer on the same models: time to the first picture, and memory.

    python benchmarks/viewers.py MODEL… [--rounds 3] [--pictures FOLDER] [--only VIEWER…]

Each viewer runs as its own command, and Chromium opens its page. *Ready* is the time from the start of the
command until it serves the page; *picture* the time from opening the page until the graph is drawn;
*memory* the proportional share of the server and of all processes of the browser at that moment. The viewers
take turns; the medians of all rounds are printed.
Needs `netron`, `ai-edge-model-explorer`, `playwright` and `psutil` in this Python.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from playwright.sync_api import Error, Page, sync_playwright

from tfport.web.model_store import model_id

LIMIT = 180
SIZE = {"width": 1400, "height": 900}
BIN = Path(sys.executable).parent
MODEL_FILE = "saved_model.pb"


class Viewer(NamedTuple):
    """A program that shows a model in the browser."""

    name: str
    command: Callable[[Path, int], list[str]]
    address: Callable[[str, Path], str]
    """Where the graph is, from the address that the command prints."""
    wait: Callable[[Page], None]
    """Wait until the graph is drawn."""


class Measured(NamedTuple):
    ready: float
    picture: float
    megabytes: float


def tfport_command(model: Path, port: int) -> list[str]:
    return [str(BIN / "tfport"), "ui", str(model), "--no-browser", "--port", str(port)]


def netron_command(model: Path, port: int) -> list[str]:
    return [str(BIN / "netron"), "--host", "127.0.0.1", "-p", str(port), str(file_of(model))]


def explorer_command(model: Path, port: int) -> list[str]:
    options = ["--host", "127.0.0.1", "--port", str(port), "--no_open_in_browser"]
    return [str(BIN / "model-explorer"), str(file_of(model)), *options]


def file_of(model: Path) -> Path:
    return model / MODEL_FILE if (model / MODEL_FILE).exists() else model


def graph_of_tfport(printed: str, model: Path) -> str:
    return f"{printed}&/model/{model_id(os.path.realpath(model))}/graph"


def as_printed(printed: str, model: Path) -> str:
    return printed


def wait_for_tfport(page: Page) -> None:
    drawn = "() => performance.getEntriesByName('tfport-graph-painted').length > 0"
    page.wait_for_function(drawn, timeout=LIMIT * 1000)


def wait_for_netron(page: Page) -> None:
    page.get_by_text("Accept").click()  # it asks for consent to report usage
    page.locator("body.default .node-item").first.wait_for(state="attached", timeout=LIMIT * 1000)


def wait_for_explorer(page: Page) -> None:
    page.get_by_text("op node count").first.wait_for(state="visible", timeout=LIMIT * 1000)


VIEWERS = [
    Viewer("tfport ui", tfport_command, graph_of_tfport, wait_for_tfport),
    Viewer("Netron", netron_command, as_printed, wait_for_netron),
    Viewer("Model Explorer", explorer_command, as_printed, wait_for_explorer),
]


def measure(viewer: Viewer, model: Path, browser: Any, port: int, picture: Path | None) -> Measured:
    began = time.perf_counter()
    with subprocess.Popen(
        viewer.command(model, port), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            address = viewer.address(served_address(server), model)
            ready = time.perf_counter() - began
            context = browser.new_context(viewport=SIZE)
            page = context.new_page()
            opened = time.perf_counter()
            page.goto(address, timeout=LIMIT * 1000)
            viewer.wait(page)
            seconds = time.perf_counter() - opened
            if picture:
                page.screenshot(path=str(picture))
            used = memory(server.pid) + memory_of_browser()
            context.close()
            return Measured(ready, seconds, used)
        finally:
            server.terminate()


def served_address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.search(r"http://\S+", line):
            return match[0]
    raise RuntimeError("the viewer did not start")


def memory(pid: int) -> float:
    """Megabytes of a process and its children; pages that several share count in part."""
    process = psutil.Process(pid)
    return sum(p.memory_full_info().pss for p in [process, *process.children(recursive=True)]) / 1e6


def memory_of_browser() -> float:
    mine = psutil.Process().children(recursive=True)
    return sum(p.memory_full_info().pss for p in mine if "chrom" in p.name()) / 1e6


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[v.name for v in VIEWERS], metavar="VIEWER")
    parser.add_argument("--pictures", type=Path, help="write a screenshot of each here")
    args = parser.parse_args()
    chosen = [viewer for viewer in VIEWERS if not args.only or viewer.name in args.only]
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    port = 8700
    print("| model | viewer | ready, s | picture, s | memory, MB |\n|---|---|---|---|---|")
    began = os.getloadavg()[0]
    with sync_playwright() as driver:

        def turn(viewer: Viewer, model: Path) -> Measured | str:
            nonlocal port
            port += 1
            picture = f"{model.name}_{viewer.name.split()[0]}.png"
            place = args.pictures / picture if args.pictures else None
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            try:
                return measure(viewer, model, browser, port, place)
            except (Error, RuntimeError) as error:
                if place and browser.contexts:
                    browser.contexts[0].pages[0].screenshot(path=str(place))
                return str(error).splitlines()[0][:60]
            finally:
                browser.close()

        for model in args.models:
            turns: dict[str, list[Measured | str]] = {viewer.name: [] for viewer in chosen}
            for _ in range(args.rounds):
                for viewer in chosen:
                    if not any(isinstance(one, str) for one in turns[viewer.name]):
                        turns[viewer.name].append(turn(viewer, model))
            for name, results in turns.items():
                print(row(model, name, results), flush=True)
    print(f"\nload average at the beginning and end: {began:.1f}, {os.getloadavg()[0]:.1f}")


def row(model: Path, viewer: str, results: list[Measured | str]) -> str:
    for problem in results:
        if isinstance(problem, str):
            return f"| {model.name} | {viewer} | | no picture: {problem} | |"
    measured = [result for result in results if not isinstance(result, str)]
    ready, picture, used = (statistics.median(values) for values in zip(*measured, strict=True))
    return f"| {model.name} | {viewer} | {ready:.1f} | {picture:.2f} | {used:,.0f} |"


if __name__ == "__main__":
    main()
