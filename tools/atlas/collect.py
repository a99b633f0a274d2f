"""Record what releases of TensorFlow register, how they were built and what they export.

    python tools/atlas/collect.py 2.8.4 1.15.5 …
    python tools/atlas/collect.py --package tensorflow-gpu --jobs 2
    CC=aarch64-linux-gnu-gcc python tools/atlas/collect.py 2.21.0 --platform aarch64 \\
        --python "env PYTHONHOME=ROOT/usr qemu-aarch64-static -L ROOT ROOT/usr/bin/python3.11"

The default is all releases. A build that is in the atlas, or that has a record, is skipped
(`--again` records it anyway), and wheels are deleted after use. The libraries of the wheel are
loaded in a separate process. ROOT is a folder with Debian's packages of that platform: Python,
libc, libstdc++, libffi. The records go to `--cache` (`records`); `add_records` stores them.
A build may be an alias of one that is in the atlas: store tensorflow first, then
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

from aliases import Build, same_files
from atlas_file import AtlasContent, record_name
from elf import Library
from facts import facts_of, from_metadata
from native import LIBRARIES
from package_index import choose, pythons, releases
from records import CACHE, FACTS_OF_RECORD, X86, Record, folder_of, release_order
from remote_zip import open_zip
from stubs import cuda_stubs
from wheels import Wheel, built, op_libraries, unpacked

PROBE = Path(__file__).with_name("release_probe.py")


def main() -> None:
    args = arguments()
    names = args.releases or newest_first(releases(args.package, args.platform))
    builds = [(args.package, release, args.platform) for release in names]
    content = AtlasContent.read()
    todo = [b for b in builds if args.again or not is_recorded(b, content, args.cache)]
    print(f"{len(builds) - len(todo)} recorded before, {len(todo)} to do", flush=True)
    with ProcessPoolExecutor(args.jobs) as pool:
        results = [
            pool.submit(attempt, b, args.cache, shlex.split(args.python), aliases=not args.again)
            for b in todo
        ]
        for number, (build, result) in enumerate(zip(todo, results, strict=True), 1):
            print(f"[{number}/{len(todo)}] {' '.join(build)}: {result.result()}", flush=True)
    if any(not (folder_of(args.cache, *build) / "facts.json").exists() for build in todo):
        sys.exit("not all builds were recorded")


def is_recorded(build: Build, content: AtlasContent, cache: Path) -> bool:
    stored = content.find(record_name(*build)) is not None
    return stored or (folder_of(cache, *build) / "facts.json").exists()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="*")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--platform", default=X86, choices=(X86, "aarch64"))
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--again", action="store_true", help="record builds that are in the atlas too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="command that runs a Python of the platform")
    return parser.parse_args()


def newest_first(names: list[str]) -> list[str]:
    """Sort releases: the newest patch of each minor release, newest first, then all other patches."""
    ordered = sorted(names, key=release_order, reverse=True)
    newest = {release_order(name)[:2]: name for name in reversed(ordered)}
    return sorted(ordered, key=lambda name: newest[release_order(name)[:2]] != name)


def attempt(build: Build, cache: Path, python: list[str], aliases: bool) -> str:
    """Record one build; return a line about it."""
    start = time.monotonic()
    try:
        summary = collect(build, cache, python, aliases)
    except Exception as error:
        summary = f"failed: {type(error).__name__}: {str(error)[-2000:]}"
    return f"{summary}, {time.monotonic() - start:.0f} s"


def collect(build: Build, cache: Path, python: list[str], aliases: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "record")
        out.mkdir()
        content = AtlasContent.read()
        if aliases and (twin := same_files(build, content)):
            summary = record_alias(build, twin, content, out)
        else:
            summary = record(build, out, python)
        shutil.rmtree(folder_of(cache, *build), ignore_errors=True)
        shutil.copytree(out, folder_of(cache, *build))
    return summary


def record_alias(build: Build, twin: str, content: AtlasContent, out: Path) -> str:
    """Record a wheel with the libraries of another build; only its metadata is its own."""
    wheel = choose(*build)
    archive = open_zip(wheel.url)
    metadata = next(name for name in archive.namelist() if name.endswith("/METADATA"))
    own = {**from_metadata(archive.read(metadata).decode(errors="replace")), "built": built(archive)}
    stored = json.loads(content.builds[content.find(twin)].facts)
    facts = {name: value for name, value in stored.items() if name not in FACTS_OF_RECORD}
    write_facts(build, facts | own, out)
    package, release, platform = build
    Record(package, release, wheel.name, wheel.sha256, out, platform, twin).write()
    return f"the libraries of {twin}"


def record(build: Build, out: Path, python: list[str]) -> str:
    package, release, platform = build
    with unpacked(*build) as wheel:
        probe(wheel, out, python)
        main = main_libraries(wheel.package)
        versions = out / "versions.json"
        write_facts(build, facts_of(wheel, main, json.loads(versions.read_text())), out)
        versions.unlink()
        write_symbols(main, out / "symbols")
    Record(package, release, wheel.name, wheel.sha256, out, platform).write()
    refused = len(list(out.rglob("*.txt")))
    return f"{wheel.name}, {refused} libraries do not load"


def probe(wheel: Wheel, out: Path, python: list[str]) -> None:
    """Run `release_probe`, with stubs for the CUDA libraries."""
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
