"""Record what add-on packages register in TensorFlow.

    python tools/atlas/addons.py [PACKAGE…]

The packages and versions are those of addons.toml. Each library of a wheel is loaded
(`TF_LoadLibrary`) into the newest release that the metadata of the wheel allows; if it
allows several, or has no requirement, into one release of each minor version, newest
first, until the libraries load. Versions that are in the atlas, or that are known to register nothing
(`without_ops`), are skipped. `add_records` stores the records. A record is a folder such as
`tensorflow-text-2.8.2`:

    record.json                 the wheel, the TensorFlow it requires and was loaded into, the result
    libraries/PATH.pb           an OpList: what the library registers
    libraries/PATH.kernels.pb   a KernelList: the kernels that came with it, from 1.11 on
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from addon_wheels import Addon, NoWheel, fetched
from atlas_file import AtlasContent, record_name
from package_index import files
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from records import ADDON_CACHE
from wheels import Wheel, fetch, package_in, unpack, unpacked

# Of these, wheels for Python 3.7 have the new C++ ABI, and those for older Pythons the old one.
DIFFER = ("1.13.", "1.14.")
PROBE = Path(__file__).with_name("addon_probe.py")
TABLE = Path(__file__).with_name("addons.toml")


@dataclass
class Task:
    """An add-on, the releases left to try, and the results so far."""

    addon: Addon
    folder: Path
    runtime: str
    releases: list[str]
    each: bool
    best: dict = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.addon.package}-{self.addon.version}"

    @property
    def here(self) -> tuple[str, str, str | None]:
        """The build to try next: package, release and, if it matters, the Python of the wheel."""
        release = self.releases[0]
        if not release.startswith(DIFFER):
            return self.runtime, release, None
        return self.runtime, release, "37" if "-cp37-" in self.addon.wheel else "36"


def main() -> None:
    args = arguments()
    table = tomllib.loads(TABLE.read_text())
    releases = table.pop("releases")
    with tempfile.TemporaryDirectory() as folder:
        tasks = prepare(table, args, releases, Path(folder))
        while tasks:
            newest = max((t.here for t in tasks), key=lambda here: Version(here[1]))
            tasks = visit(newest, tasks, args)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record what add-on packages register.")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    parser.add_argument("--newest", action="store_true", help="only the newest version of each package")
    parser.add_argument("--cache", type=Path, default=ADDON_CACHE)
    parser.add_argument("--python", default=sys.executable, help="command that runs an x86-64 Python")
    return parser.parse_args()


def prepare(table: dict, args: argparse.Namespace, releases: dict, folder: Path) -> list[Task]:
    """Download what is not recorded; record add-ons without a TensorFlow library at once."""
    few = slice(-1, None) if args.newest else slice(None)
    wanted = [(p, v) for p in args.packages or table for v in table[p]["versions"][few]]
    content, tasks = AtlasContent.read(), []
    for number, (package, version) in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}] {package} {version}: ", end="", flush=True)
        place = folder / f"{package}-{version}"
        if is_recorded(package, version, table[package], content, args.cache):
            print("recorded before")
            continue
        place.mkdir()
        try:
            addon = fetched(package, version, place)
        except NoWheel as error:
            print(error)
            continue
        task = task_for(addon, place, table[package], releases)
        print(
            f"{addon.wheel}, {len(addon.libraries)} libraries, TensorFlow {addon.requires or 'not specified'}"
        )
        if addon.libraries and task.releases:
            tasks.append(task)
        else:
            write(task, args.cache)
    return tasks


def is_recorded(package: str, version: str, row: dict, content: AtlasContent, cache: Path) -> bool:
    name = record_name(package, version)
    is_known = content.find(name) is not None or version in row.get("without_ops", ())
    return is_known or (cache / name / "record.json").exists()


def task_for(addon: Addon, place: Path, facts: dict, releases: dict) -> Task:
    runtime = facts.get("runtime", "tensorflow")
    allowed = addon.requires or facts.get("built_for", {}).get(addon.version, "")
    candidates = newest_of_each_minor(releases[runtime], allowed)
    return Task(addon, place, runtime, candidates, facts.get("each", False))


def newest_of_each_minor(releases: list[str], allowed: str) -> list[str]:
    """Return the releases to try, newest first."""
    minors: dict[tuple[int, ...], str] = {}
    for release in sorted(SpecifierSet(allowed).filter(releases), key=Version):
        minors[Version(release).release[:2]] = release
    return list(reversed(minors.values()))


def visit(build: tuple[str, str, str | None], tasks: list[Task], args: argparse.Namespace) -> list[Task]:
    """Run the tasks that wait for this build; return the remaining tasks."""
    runtime, release, python = build
    now = [t for t in tasks if t.here == build]
    print(f"{runtime} {release} for {len(now)} of {len(tasks)}: ", end="", flush=True)
    start = time.monotonic()
    with unpacked(runtime, release) if python is None else unpacked_for(*build) as wheel:
        jobs = [job for task in now for job in jobs_of(task, release)]
        command = ["nice", "-n", "5", *shlex.split(args.python), PROBE, wheel.package]
        done = subprocess.run(command, input="\n".join(jobs).encode(), capture_output=True)
    problem = f": {done.stderr.decode(errors='replace')[-300:]}" if done.returncode else ""
    print(f"{len(jobs)} libraries, {time.monotonic() - start:.0f} s{problem}", flush=True)
    source = {"package": runtime, "release": release, "wheel": wheel.name, "sha256": wheel.sha256}
    finished = [t for t in now if judge(t, source)]
    for task in finished:
        print(f"  {task.name}: {write(task, args.cache)}", flush=True)
        shutil.rmtree(task.folder)
    return [t for t in tasks if t not in finished]


@contextmanager
def unpacked_for(runtime: str, release: str, python: str) -> Iterator[Wheel]:
    """Unpack the wheel of a release for this Python while it is in use."""
    file = next(f for f in files(runtime) if (f.release, f.platform, f.python) == (release, "x86_64", python))
    with tempfile.TemporaryDirectory() as folder:
        built = unpack(fetch(file, Path(folder)), Path(folder, "wheel"))
        yield Wheel(file.name, file.sha256, package_in(Path(folder, "wheel")), Path(folder, "wheel"), built)


def jobs_of(task: Task, release: str) -> list[str]:
    root, out = task.addon.root, task.folder / release
    return [f"{root / n}\t{root}\t{out / n}" for n in libraries_of(task)]


def libraries_of(task: Task) -> list[str]:
    return [library.path for library in task.addon.libraries if library.path not in task.elsewhere]


def judge(task: Task, source: dict) -> bool:
    """Process the answers of a release; return whether the task is done."""
    release = task.releases.pop(0)
    answers = {n: answer_of(task, n, release) for n in libraries_of(task)}
    loaded = [n for n, facts in answers.items() if facts["refused"] is None]
    added = sum(answers[n]["ops"] + answers[n]["kernels"] for n in loaded)
    score = (added, len(loaded))
    if not task.best or score > task.best["score"]:
        task.best = {"source": source, "loaded": loaded, "score": score}
    if task.each:
        task.elsewhere |= dict.fromkeys(loaded, release)
        return not task.releases or not libraries_of(task)
    return not task.releases or len(loaded) == len(answers) or added > 0


def write(task: Task, cache: Path) -> str:
    """Write the record; return a line about it."""
    addon, best = task.addon, task.best or {"source": None, "loaded": []}
    release = best["source"] and best["source"]["release"]
    where = dict.fromkeys(best["loaded"], release) | task.elsewhere
    answers = {
        i.path: answer_of(task, i.path, where.get(i.path, release)) for i in addon.libraries if release
    }
    record = {
        "package": addon.package,
        "version": addon.version,
        "platform": addon.platform,
        "wheel": addon.wheel,
        "sha256": addon.sha256,
        "requires_tensorflow": addon.requires,
        "tried_with": release,
        "tensorflow": best["source"],
        "loaded": sorted(where),
        "loaded_elsewhere": {n: r for n, r in sorted(where.items()) if r != release},
        "refused": {n: facts["refused"] for n, facts in answers.items() if n not in where},
        "libraries": {
            i.path: {"needed": i.needed, "cuda": i.cuda, **answers.get(i.path, {})} for i in addon.libraries
        },
    }
    place = cache / task.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name, loaded_in in where.items():
        keep(task.folder / loaded_in, place / "libraries", name)
    (place / "record.json").write_text(json.dumps(record, indent=1) + "\n")
    ops = sum(answers[n]["ops"] for n in where)
    return f"{len(where)} libraries loaded, {len(record['refused'])} refused, {ops} ops"


def keep(source: Path, place: Path, name: str) -> None:
    for file in (f"{name}.pb", f"{name}.kernels.pb"):
        if (source / file).exists():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, place / file)


def answer_of(task: Task, name: str, release: str) -> dict:
    file = task.folder / release / f"{name}.json"
    return (
        json.loads(file.read_text())
        if file.exists()
        else {"refused": "this release does not load on this machine"}
    )


if __name__ == "__main__":
    main()
