"""Record what releases of TensorFlow register, how they were built and what they export.

    python tools/atlas/collect.py 2.8.4 1.15.5 …
    python tools/atlas/collect.py --package tensorflow-gpu --jobs 2
    CC=aarch64-linux-gnu-gcc python tools/atlas/collect.py 2.21.0 --platform aarch64 \\
        --python "env PYTHONHOME=ROOT/usr qemu-aarch64-static -L ROOT ROOT/usr/bin/python3.11"

With no release named, all of them. A build that is recorded is skipped, and wheels
are deleted after use. It loads the libraries of the wheel, in a process of their own.
ROOT is a folder with Debian's packages of that platform: Python, libc, libstdc++, libffi.
A build may be an alias of one that is recorded: tensorflow comes first, then
tensorflow-gpu and tensorflow-cpu, then tensorflow-cpu-aws, tensorflow on aarch64 last.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from elf import Library
from facts import facts_of, from_metadata
from index import choose, pythons, releases
from native import LIBRARIES
from records import CACHE, X86, Record, folder_of, release_order
from remote import open_zip
from stubs import cuda_stubs
from twins import REGISTRY, Build, same_files, same_registry
from wheels import Wheel, built, op_libraries, unpacked

PROBE = Path(__file__).with_name("probe.py")


def main() -> None:
    args = arguments()
    names = args.releases or newest_first(releases(args.package, args.platform))
    builds = [(args.package, release, args.platform) for release in names]
    todo = [b for b in builds if not (folder_of(args.cache, *b) / "facts.json").exists()]
    print(f"{len(builds) - len(todo)} recorded before, {len(todo)} to do", flush=True)
    with ProcessPoolExecutor(args.jobs) as pool:
        asked = [pool.submit(attempt, b, args.cache, shlex.split(args.python)) for b in todo]
        for number, (build, said) in enumerate(zip(todo, asked, strict=True), 1):
            print(f"[{number}/{len(todo)}] {' '.join(build)}: {said.result()}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record what releases of TensorFlow register.")
    parser.add_argument("releases", nargs="*")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--platform", default=X86, choices=(X86, "aarch64"))
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="the command that runs a Python there")
    return parser.parse_args()


def newest_first(names: list[str]) -> list[str]:
    """The newest patch of each minor release, newest first, then all other patches."""
    ordered = sorted(names, key=release_order, reverse=True)
    newest = {release_order(name)[:2]: name for name in reversed(ordered)}
    return sorted(ordered, key=lambda name: newest[release_order(name)[:2]] != name)


def attempt(build: Build, cache: Path, python: list[str]) -> str:
    """Record one build; what to say about it."""
    start = time.monotonic()
    try:
        said = collect(build, cache, python)
    except Exception as error:
        said = f"failed: {type(error).__name__}: {str(error)[-2000:]}"
    return f"{said}, {time.monotonic() - start:.0f} s"


def collect(build: Build, cache: Path, python: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "record")
        out.mkdir()
        if twin := same_files(build, cache):
            said = copy_twin(build, twin, out)
        else:
            said = record(build, out, cache, python)
        shutil.rmtree(folder_of(cache, *build), ignore_errors=True)
        shutil.copytree(out, folder_of(cache, *build))
    return said


def copy_twin(build: Build, twin: Path, out: Path) -> str:
    """Record a wheel with the libraries of another: what pip reads is its own."""
    wheel = choose(*build)
    archive = open_zip(wheel.url)
    metadata = next(name for name in archive.namelist() if name.endswith("/METADATA"))
    own = {**from_metadata(archive.read(metadata).decode(errors="replace")), "built": built(archive)}
    write_facts(build, json.loads((twin / "facts.json").read_text()) | own, out)
    package, release, platform = build
    alias = json.loads((twin / "record.json").read_text()).get("alias_of")
    if alias:  # of one that has a registry; the symbols are those of the twin
        shutil.copytree(twin / "symbols", out / "symbols")
    Record(package, release, wheel.name, wheel.sha256, out, platform, alias or twin.name).write()
    return f"the libraries of {twin.name}"


def record(build: Build, out: Path, cache: Path, python: list[str]) -> str:
    package, release, platform = build
    with unpacked(*build) as wheel:
        ask(wheel, out, python)
        main = main_libraries(wheel.package)
        versions = out / "versions.json"
        write_facts(build, facts_of(wheel, main, json.loads(versions.read_text())), out)
        versions.unlink()
        write_symbols(main, out / "symbols")
    if twin := same_registry(build, out, cache):
        for name in REGISTRY:
            shutil.rmtree(out / name) if (out / name).is_dir() else (out / name).unlink(missing_ok=True)
    alias = twin.name if twin else None
    Record(package, release, wheel.name, wheel.sha256, out, platform, alias).write()
    refused = len(list(out.rglob("*.txt")))
    return f"{wheel.name}, {refused} libraries refused" + (f", the registry of {alias}" if alias else "")


def ask(wheel: Wheel, out: Path, python: list[str]) -> None:
    """Run the probe, with stubs for the libraries of CUDA."""
    stubs = wheel.root / "stubs"
    stubs.mkdir()
    cuda_stubs([Library(path) for path in wheel.root.rglob("*.so*") if path.is_file()], stubs)
    command = [*python, PROBE, wheel.package, out, *op_libraries(wheel.package)]
    environment = os.environ | {"LD_LIBRARY_PATH": str(stubs)}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)


def main_libraries(package: Path) -> list[Library]:
    return [Library(path) for pattern in LIBRARIES for path in sorted(package.glob(pattern))]


def write_facts(build: Build, facts: dict, out: Path) -> None:
    facts |= {"pythons": pythons(*build), "uploaded": choose(*build).uploaded}
    (out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


def write_symbols(main: list[Library], folder: Path) -> None:
    folder.mkdir()
    for library in main:
        names = "\n".join(library.exported).encode()
        (folder / f"{library.path.name}.z").write_bytes(zlib.compress(names, 9))


if __name__ == "__main__":
    main()
