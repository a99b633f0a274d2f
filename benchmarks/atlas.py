"""Measure opening the atlas and looking up the ops of one model, and the size of its files."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import tfport.atlas.atlas as recorded
from tfport.atlas.history import op_history

ROUNDS = 20
MODEL = 60
RELEASE = "2.21.0"
FOLDER = Path(recorded.__file__).parent


def milliseconds(work: Callable[[], object]) -> float:
    """Return the median of several rounds; the first one, which fills the file cache, does not count."""
    times = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:]) * 1000


def open_atlas() -> recorded.Atlas:
    return recorded.Atlas(FOLDER / "atlas.sqlite")


def ops_of_a_model(atlas: recorded.Atlas) -> list[str]:
    """Return as many ops as a model has, spread over all names."""
    ops = atlas.source(atlas.find("tensorflow", RELEASE)).ops()
    return ops[:: len(ops) // MODEL][:MODEL]


def look_up(atlas: recorded.Atlas, ops: list[str]) -> None:
    source = atlas.source(atlas.find("tensorflow", RELEASE))
    for op in ops:
        source.definition(op)
        source.kernels(op)


def main() -> None:
    atlas = open_atlas()
    ops = ops_of_a_model(atlas)
    works = {
        "open": open_atlas,
        f"definitions and kernels of {MODEL} ops in one release": lambda: look_up(atlas, ops),
        "open and look up": lambda: look_up(open_atlas(), ops),
        f"histories of {MODEL} ops": lambda: [op_history(atlas, op) for op in ops],
    }
    print(f"The atlas of {len(atlas.builds(platform=None))} builds\n")
    print(f"| | milliseconds (median of {ROUNDS}) |\n|---|---|")
    for name, work in works.items():
        print(f"| {name} | {milliseconds(work):.1f} |")
    print("\n| file | MB |\n|---|---|")
    for file in sorted(FOLDER.glob("*.sqlite")):
        print(f"| {file.name} | {file.stat().st_size / 1e6:.2f} |")


if __name__ == "__main__":
    main()
