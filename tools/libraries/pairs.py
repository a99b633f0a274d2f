"""Which libraries does which release load? Each of pairs.toml into each, on the real binaries.

    python tools/libraries/pairs.py [RELEASE…]

Writes tests/libraries/pairs.json.xz: for each library where it comes from, and what each release
said (`TF_LoadLibrary`); releases that are not named stay as they are. Of libraries from wheels,
and of what they need that is in the same wheel, tests/libraries/wheels.tar.xz has what a
prediction needs (`slim`). LIBRARIES and WHEELS stand for the folders of both.
"""

import hashlib
import io
import json
import platform
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / "atlas"), str(Path(__file__).parents[2])]

from addon_wheels import fetched
from build import LIBRARIES
from elf import Library
from releases import CACHE, Release, release
from slim import slim
from tests.compact_json import read_json, write_json

TABLE = tomllib.loads(Path(__file__).with_name("pairs.toml").read_text())
ASK = Path(__file__).with_name("ask_release.py")
OUT, SLIM = LIBRARIES / "pairs.json.xz", LIBRARIES / "wheels.tar.xz"
WHEELS = CACHE / "wheels"


@dataclass(frozen=True)
class Subject:
    """A library to be loaded."""

    name: str
    path: Path
    source: dict[str, str]


def main(versions: list[str]) -> None:
    before = read_json(OUT) if OUT.exists() else {"releases": {}, "libraries": {}}
    subjects = [*own(), *(subject for name in TABLE["wheels"] for subject in of_wheel(name))]
    said = {s.name: before["libraries"].get(s.name, {}).get("said", {}) for s in subjects}
    releases = before["releases"]
    for version in versions or TABLE["releases"]:
        here = release(version)
        releases[version] = {"wheel": here.wheel, "sha256": here.sha256, "global": here.is_global}
        for subject, answer in zip(subjects, ask(here, subjects), strict=True):
            said[subject.name][version] = answer
        print(version, sum(said[s.name][version]["loads"] for s in subjects), "of", len(subjects), flush=True)
        write(releases, subjects, said)
    keep_slim(subjects)


def own() -> list[Subject]:
    paths = [LIBRARIES / name / "op.so" for name in TABLE["own"]]
    return [Subject(f"LIBRARIES/{p.relative_to(LIBRARIES)}", p, {"sha256": digest(p)}) for p in paths]


def of_wheel(name: str) -> list[Subject]:
    """The libraries of a wheel that are asked about."""
    folder, (package, version) = WHEELS / name, name.split("==")
    if not (folder / "wheel.json").exists():
        folder.mkdir(parents=True)
        addon = fetched(package, version, folder)
        (folder / "wheel.json").write_text(json.dumps({"wheel": addon.wheel, "sha256": addon.sha256}))
    source, root = json.loads((folder / "wheel.json").read_text()), folder / "wheel"
    wanted = tuple(TABLE["wheels"][name])
    paths = [p for p in sorted(root.rglob("*.so*")) if p.is_file() and str(p).endswith(wanted)]
    assert paths, f"{name} has no {' or '.join(wanted)}"
    return [Subject(f"WHEELS/{name}/{p.relative_to(root)}", p, source) for p in paths]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def ask(here: Release, subjects: list[Subject]) -> list[dict]:
    scope = "global" if here.is_global else "local"
    todo = "".join(f"{subject.path}\n" for subject in subjects)
    command = [sys.executable, ASK, here.package, scope]
    done = subprocess.run(command, input=todo, text=True, stdout=subprocess.PIPE, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return [json.loads(nameless(line, here)) for line in lines]


def nameless(line: str, here: Release) -> str:
    """What was said, without the folders of this machine."""
    for name in TABLE["wheels"]:
        line = line.replace(str(WHEELS / name / "wheel"), f"WHEELS/{name}")
    return line.replace(str(LIBRARIES), "LIBRARIES").replace(str(here.package), "TENSORFLOW")


def write(releases: dict, subjects: list[Subject], said: dict[str, dict]) -> None:
    head = {
        "machine": platform.machine(),
        "glibc": platform.libc_ver()[1],
        "python": platform.python_version(),
    }
    ordered = {v: releases[v] for v in TABLE["releases"] if v in releases}
    libraries = {s.name: {**s.source, "said": by_order(said[s.name])} for s in subjects}
    write_json(OUT, {**head, "releases": ordered, "libraries": libraries})


def by_order(said: dict[str, dict]) -> dict[str, dict]:
    return {version: said[version] for version in TABLE["releases"] if version in said}


def keep_slim(subjects: list[Subject]) -> None:
    """Write what a prediction needs of the wheels' libraries."""
    files: dict[str, bytes] = {}
    for subject in subjects:
        if subject.name.startswith("WHEELS/"):
            files[subject.name.removeprefix("WHEELS/")] = slim(subject.path)
    for subject in subjects:
        for name, path in neighbours(subject):
            files[name.removeprefix("WHEELS/")] = slim(path, exports=True)
    with tarfile.open(SLIM, "w:xz", preset=9) as archive:
        for name, content in sorted(files.items(), key=lambda item: Path(item[0]).name):  # alike beside alike
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    print(f"{len(files)} files, {SLIM.stat().st_size} bytes")


def neighbours(subject: Subject) -> list[tuple[str, Path]]:
    """The libraries of the wheel that this one needs, at any remove."""
    if not subject.name.startswith("WHEELS/"):
        return []
    root = next(p for p in subject.path.parents if p.name == "wheel" and p.parent.parent == WHEELS)
    by_name = {path.name: path for path in root.rglob("*.so*") if path.is_file()}
    found: dict[str, Path] = {}
    todo = [subject.path]
    while todo:
        for needed in Library(todo.pop()).needed:
            if needed in by_name and needed not in found:
                found[needed] = by_name[needed]
                todo.append(by_name[needed])
    return [(f"WHEELS/{root.parent.name}/{p.relative_to(root)}", p) for p in found.values()]


if __name__ == "__main__":
    main(sys.argv[1:])
