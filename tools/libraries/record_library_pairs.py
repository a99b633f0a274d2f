"""Record which releases load which libraries: every library of pairs.toml in every release.

    python tools/libraries/record_library_pairs.py [RELEASE…]

Writes tests/libraries/pairs.json.xz: the source of each library, and the outcome of
`TF_LoadLibrary` in each release; releases that are not named keep their records. For libraries
from wheels and their dependencies in the same wheel, tests/libraries/wheels.tar.xz has the parts
that a diagnosis needs (`reduced_elf`). LIBRARIES and WHEELS stand for the two folders.
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
from reduced_elf import reduced_elf
from releases import CACHE, Release, release
from tests.compact_json import read_json, write_json

TABLE = tomllib.loads(Path(__file__).with_name("pairs.toml").read_text())
PROBE = Path(__file__).with_name("release_probe.py")
OUT, REDUCED = LIBRARIES / "pairs.json.xz", LIBRARIES / "wheels.tar.xz"
WHEELS = CACHE / "wheels"


@dataclass(frozen=True)
class PairLibrary:
    """A library to load."""

    name: str
    path: Path
    source: dict[str, str]


def main(versions: list[str]) -> None:
    before = read_json(OUT) if OUT.exists() else {"releases": {}, "libraries": {}}
    subjects = [*own(), *(subject for name in TABLE["wheels"] for subject in of_wheel(name))]
    outcomes = {s.name: before["libraries"].get(s.name, {}).get("outcomes", {}) for s in subjects}
    releases = before["releases"]
    for version in versions or TABLE["releases"]:
        here = release(version)
        releases[version] = {"wheel": here.wheel, "sha256": here.sha256, "global": here.is_global}
        for subject, answer in zip(subjects, load_all(here, subjects), strict=True):
            outcomes[subject.name][version] = answer
        print(
            version,
            sum(outcomes[s.name][version]["loads"] for s in subjects),
            "of",
            len(subjects),
            flush=True,
        )
        write(releases, subjects, outcomes)
    write_reduced(subjects)


def own() -> list[PairLibrary]:
    paths = [LIBRARIES / name / "op.so" for name in TABLE["own"]]
    return [PairLibrary(f"LIBRARIES/{p.relative_to(LIBRARIES)}", p, {"sha256": digest(p)}) for p in paths]


def of_wheel(name: str) -> list[PairLibrary]:
    """The selected libraries of a wheel."""
    folder, (package, version) = WHEELS / name, name.split("==")
    if not (folder / "wheel.json").exists():
        folder.mkdir(parents=True)
        addon = fetched(package, version, folder)
        (folder / "wheel.json").write_text(json.dumps({"wheel": addon.wheel, "sha256": addon.sha256}))
    source, root = json.loads((folder / "wheel.json").read_text()), folder / "wheel"
    endings = tuple(TABLE["wheels"][name])
    paths = [p for p in sorted(root.rglob("*.so*")) if p.is_file() and str(p).endswith(endings)]
    assert paths, f"{name} has no {' or '.join(endings)}"
    return [PairLibrary(f"WHEELS/{name}/{p.relative_to(root)}", p, source) for p in paths]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load_all(here: Release, subjects: list[PairLibrary]) -> list[dict]:
    scope = "global" if here.is_global else "local"
    todo = "".join(f"{subject.path}\n" for subject in subjects)
    command = [sys.executable, PROBE, here.package, scope]
    done = subprocess.run(command, input=todo, text=True, stdout=subprocess.PIPE, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return [json.loads(without_folders(line, here)) for line in lines]


def without_folders(line: str, here: Release) -> str:
    """Replace the folders of this machine in a record."""
    for name in TABLE["wheels"]:
        line = line.replace(str(WHEELS / name / "wheel"), f"WHEELS/{name}")
    return line.replace(str(LIBRARIES), "LIBRARIES").replace(str(here.package), "TENSORFLOW")


def write(releases: dict, subjects: list[PairLibrary], outcomes: dict[str, dict]) -> None:
    head = {
        "machine": platform.machine(),
        "glibc": platform.libc_ver()[1],
        "python": platform.python_version(),
    }
    ordered = {v: releases[v] for v in TABLE["releases"] if v in releases}
    libraries = {s.name: {**s.source, "outcomes": by_order(outcomes[s.name])} for s in subjects}
    write_json(OUT, {**head, "releases": ordered, "libraries": libraries})


def by_order(outcomes: dict[str, dict]) -> dict[str, dict]:
    return {version: outcomes[version] for version in TABLE["releases"] if version in outcomes}


def write_reduced(subjects: list[PairLibrary]) -> None:
    """Write the parts of the wheels' libraries that a diagnosis needs."""
    files: dict[str, bytes] = {}
    for subject in subjects:
        if subject.name.startswith("WHEELS/"):
            files[subject.name.removeprefix("WHEELS/")] = reduced_elf(subject.path)
    for subject in subjects:
        for name, path in dependencies(subject):
            files[name.removeprefix("WHEELS/")] = reduced_elf(path, exports=True)
    with tarfile.open(REDUCED, "w:xz", preset=9) as archive:
        for name, content in sorted(
            files.items(), key=lambda item: Path(item[0]).name
        ):  # similar files together compress better
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    print(f"{len(files)} files, {REDUCED.stat().st_size} bytes")


def dependencies(subject: PairLibrary) -> list[tuple[str, Path]]:
    """The libraries of the wheel that a library needs, directly or indirectly."""
    if not subject.name.startswith("WHEELS/"):
        return []
    root = next(p for p in subject.path.parents if p.name == "wheel" and p.parent.parent == WHEELS)
    by_name = {path.name: path for path in root.rglob("*.so*") if path.is_file()}
    needed_paths: dict[str, Path] = {}
    todo = [subject.path]
    while todo:
        for needed in Library(todo.pop()).needed:
            if needed in by_name and needed not in needed_paths:
                needed_paths[needed] = by_name[needed]
                todo.append(by_name[needed])
    return [(f"WHEELS/{root.parent.name}/{p.relative_to(root)}", p) for p in needed_paths.values()]


if __name__ == "__main__":
    main(sys.argv[1:])
