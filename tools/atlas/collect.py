"""Record what releases of TensorFlow register.

    python tools/atlas/collect.py 2.8.4 1.15.5 …
    python tools/atlas/collect.py 2.8.4 --python "qemu-x86_64-static -L ROOT ROOT/usr/bin/python3"

A release that is recorded is skipped, and wheels are deleted after use. It loads
the libraries of the wheel, in a process of their own. Releases before 1.3 hide
the C API and are not for this tool.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from records import CACHE, Record, folder_of, recorded, release_order
from wheels import op_libraries, unpacked

PROBE = Path(__file__).with_name("probe.py")
OLDEST = (1, 3)


def main() -> None:
    args = arguments()
    before = {(r.package, r.release) for r in recorded(args.cache)}
    for number, release in enumerate(args.releases, 1):
        print(f"[{number}/{len(args.releases)}] {args.package} {release}: ", end="", flush=True)
        if (args.package, release) in before:
            print("recorded before")
        elif release_order(release) < OLDEST:
            print("skipped, its C API is hidden")
        else:
            print(collect(args.package, release, args.cache, shlex.split(args.python)))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record what releases of TensorFlow register.")
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--python", default=sys.executable, help="the command that runs an x86-64 Python")
    return parser.parse_args()


def collect(package: str, release: str, cache: Path, python: list[str]) -> str:
    """Record one release; what to say about it."""
    start = time.monotonic()
    with unpacked(package, release) as wheel, tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        ask(wheel.package, out, python)
        Record(package, release, wheel.name, wheel.sha256, out).write()
        refused = len(list(out.rglob("*.txt")))
        shutil.copytree(out, folder_of(cache, package, release), dirs_exist_ok=True)
    return f"{wheel.name}, {time.monotonic() - start:.0f} s, {refused} libraries refused"


def ask(package: Path, out: Path, python: list[str]) -> None:
    """Run the probe, again without each library that ends it."""
    libraries = op_libraries(package)
    while True:
        command = [*python, PROBE, package, out, *libraries]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            return
        tried = [n for n in libraries if (out / f"libraries/{n}.txt").exists()]
        if not tried:
            sys.exit(done.stderr)
        libraries.remove(tried[-1])


if __name__ == "__main__":
    main()
