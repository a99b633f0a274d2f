"""Record what every TensorFlow Lite interpreter registers: ops with versions, custom ops, delegates, texts.

    python tools/atlas/lite_releases.py                           every release (an hour)
    python tools/atlas/lite_releases.py ai-edge-litert==2.4.0     add a release

Asks the interpreters of tflite-runtime, ai-edge-litert and tensorflow (`lite_probe`), each in the Python
that its wheel is for. The newest patch of each TensorFlow is also asked about Flex (`lite_flex`). Writes
src/tfport/atlas/lite/releases.json.xz, which `tfport.atlas.lite.releases` reads.
"""

import argparse
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lite_wheels import (
    FLEX,
    NEEDED,
    PACKAGES,
    TENSORFLOW,
    package_in,
    python_for,
    releases_of,
    unpack_members,
    wheel_of,
    wrapper_in,
)
from number_ranges import numbers_in, ranges_of
from package_index import File

from tfport.atlas.atlas import atlas
from tfport.atlas.lite.releases import OUTPUT
from tfport.atlas.versions import version_key
from tfport.formats.lite.schema import lite_schema

TOOLS = Path(__file__).resolve().parent
NODE = re.compile(r"Node number \d+")
Release = tuple[str, str]
"""A package and a version."""
Record = dict[str, Any]
"""What one interpreter answered, as `compact` returns it."""


def read(release: Release) -> Record:
    """What the interpreter of a release registers."""
    package, version = release
    asks_flex = package == TENSORFLOW and version == _newest_patch(version)
    wheel = wheel_of("tensorflow-cpu" if asks_flex else package, version) or wheel_of(*release)
    assert wheel is not None, f"{package}=={version}: no wheel for a Python that is used here"
    wanted = re.compile(f"{NEEDED.pattern}|{FLEX.pattern}") if asks_flex else NEEDED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpack_members(wheel, wanted, folder)
        wrapper = wrapper_in(folder)
        answers = _child(wheel, folder, "lite_probe.py", wrapper)
        if asks_flex:
            ops = folder / "ops.txt"
            ops.write_text("\n".join(_tensorflow_ops()))
            answers["flex"] = _child(wheel, folder, "lite_flex.py", wrapper, package_in(folder), ops)
    print(*release, len(answers["versions"]), "ops", file=sys.stderr, flush=True)
    return compact(answers)


def _child(wheel: File, folder: Path, script: str, *arguments: Path) -> Record:
    """What a script prints, in the Python of a wheel with its libraries."""
    libraries = {str(path.parent) for path in folder.rglob("lib*.so*")}
    search = ":".join([str(folder), *sorted(libraries)])  # never empty: that would be the current folder
    environment = {**os.environ, "LD_LIBRARY_PATH": search, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [python_for(wheel.python), TOOLS / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"{wheel.name}, {script}: {done.stderr[-2000:]}")
    answers: Record = json.loads(done.stdout.splitlines()[-1])
    return answers


def _newest_patch(version: str) -> str:
    minor = version_key(version).release[:2]
    return [v for v in releases_of(TENSORFLOW) if version_key(v).release[:2] == minor][-1]


def _tensorflow_ops() -> list[str]:
    known = atlas()
    return sorted({op for build in known.builds(TENSORFLOW, None) for op in known.source(build).ops()})


def compact(answers: Mapping[str, Any]) -> Record:
    """The answers of a release, without what follows from the rest."""
    texts, flex = answers["texts"], answers.get("flex") or {}
    schema = next(text for text in answers["schemas"].values() if text)
    refused = next((text for text in answers["types"].values() if text), None)
    names = lite_schema().enums["BuiltinOperator"].names
    return {
        "ops": {
            names[int(code)]: [int(code), ranges_of(versions)]
            for code, versions in answers["versions"].items()
        },
        "newest": answers["newest"],
        "custom": sorted(answers["custom"]),
        "xnnpack": bool(answers["delegate"]),
        "delegated": sorted(name for name, text in answers["xnnpack"].items() if text is None),
        "types": ranges_of(int(kind) for kind, text in answers["types"].items() if text is None),
        "linked": flex.get("linked"),
        "flex": flex.get("flex"),
        "texts": {
            "op": texts["op"],
            "version": texts.get("version", ""),
            "out_of_range": re.sub(r"\d+", "{code}", texts["out_of_range"]),
            "custom": NODE.sub("Node number {node}", _once(texts["custom"])).replace("Foo", "{op}"),
            "flex": NODE.sub("Node number {node}", _once(texts["flex"] or "")).replace("(FlexErf)", "({op})"),
            "schema": re.sub(r"(?<=version )\d(?= )", "{schema}", schema),
            "type": re.sub(r"\d+", "{type}", refused or ""),
        },
    }


def _once(text: str) -> str:
    """A text without its repetition: some interpreters prepare nodes again after a delegate failed."""
    half = len(text) // 2
    return text[:half] if text[:half] == text[half:] else text


def write(by_release: Mapping[Release, Record]) -> None:
    """Write the file: each fact once, with the releases for which it holds."""
    order = sorted(by_release, key=lambda release: (PACKAGES.index(release[0]), version_key(release[1])))
    texts: list[dict[str, str]] = []
    ops: dict[str, tuple[int, dict[str, list[int]]]] = {}
    names: dict[str, dict[str, list[int]]] = {"custom": {}, "delegated": {}, "flex": {}}
    releases = []
    for number, release in enumerate(order):
        record = by_release[release]
        if record["texts"] not in texts:
            texts.append(record["texts"])
        text = texts.index(record["texts"])
        has = {"xnnpack": record["xnnpack"], "flex": _is_linked(release, by_release)}
        delegates = [name for name, present in has.items() if present]
        listed = record["flex"] is not None
        releases.append([*release, record["newest"], record["types"], " ".join(delegates), text, int(listed)])
        for name, (code, versions) in record["ops"].items():
            ops.setdefault(name, (code, {}))[1].setdefault(versions, []).append(number)
        for kind, by_name in names.items():
            for name in record[kind] or ():
                by_name.setdefault(name, []).append(number)
    document = {
        "releases": releases,
        "texts": texts,
        "ops": {
            name: [code, {versions: ranges_of(where) for versions, where in rows.items()}]
            for name, (code, rows) in sorted(ops.items())
        },
        **{
            kind: {name: ranges_of(where) for name, where in sorted(by.items())} for kind, by in names.items()
        },
    }
    text_bytes = json.dumps(document, separators=(",", ":")).encode()
    Path(OUTPUT).write_bytes(lzma.compress(text_bytes, preset=9 | lzma.PRESET_EXTREME))


def _is_linked(release: Release, by_release: Mapping[Release, Record]) -> bool:
    """Whether the interpreter has the Flex delegate: as the newest patch, which was asked."""
    package, version = release
    asked = (package, _newest_patch(version)) if package == TENSORFLOW else release
    return bool(by_release.get(asked, by_release[release])["linked"])


def stored() -> dict[Release, Record]:
    """What the file has, by release."""
    document = json.loads(lzma.decompress(Path(OUTPUT).read_bytes()))
    by_release: dict[Release, Record] = {}
    for package, version, newest, types, delegates, text, listed in document["releases"]:
        by_release[package, version] = {
            "ops": {}, "newest": newest, "types": types, "custom": [], "delegated": [],
            "xnnpack": "xnnpack" in delegates.split(), "linked": "flex" in delegates.split(),
            "flex": [] if listed else None, "texts": document["texts"][text],
        }  # fmt: skip
    records = list(by_release.values())
    for name, (code, rows) in document["ops"].items():
        for versions, where in rows.items():
            for number in numbers_in(where):
                records[number]["ops"][name] = [code, versions]
    for kind in ("custom", "delegated", "flex"):
        for name, where in document[kind].items():
            for number in numbers_in(where):
                records[number][kind].append(name)
    return by_release


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("releases", nargs="*", metavar="PACKAGE==VERSION")
    wanted = [tuple(text.split("==")) for text in parser.parse_args().releases]
    by_release: dict[Release, Record] = stored() if wanted else {}
    if not wanted:
        wanted = [(package, version) for package in PACKAGES for version in releases_of(package)]
    for package, version in wanted:
        by_release[package, version] = read((package, version))
    write(by_release)


if __name__ == "__main__":
    main()
