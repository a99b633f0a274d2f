"""Read the packages of lock files and of listed environments.

`read_packages(path)` supports uv.lock, poetry.lock, pdm.lock, pylock.toml,
Pipfile.lock, conda's environment.yml and lists, the output of `pip list` and `pip freeze`,
and requirements files. It recognizes them by content, then by name.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.utils import canonicalize_name

from tfport.atlas.atlas import ARM, X86
from tfport.atlas.requirements import (
    LONGEST,
    PackageList,
    PackageRequirement,
    RequirementsReader,
    applies,
    parse_requirement,
    pinned,
    read_text,
    requirement_if_valid,
)
from tfport.errors import Error, UnreadableFile

CONDA_FILE = re.compile(r"(?:.*/)?([^/]+)-([^-/]+)-([^-/]+)\.(?:conda|tar\.bz2)(?:#.*)?")
CONDA_SPEC = re.compile(r"(?:.*::)?([\w.-]+)\s*(.*)")
CONDA_NOTE = "conda builds are not recorded: the wheels of the same releases are used instead"
CONDA_PLATFORM = re.compile(r"^# platform: linux-(64|aarch64)\s*$", re.MULTILINE)
CONDA_LIST = re.compile(r"^# packages in environment at |^# \$ conda create ", re.MULTILINE)
CONDA_LINE = re.compile(r"([\w.-]+)(?:\s+|=)([\w.!+]+)(?:(?:\s+|=)(\S+).*)?")
FROM_PIP = "pypi"
COLUMNS = re.compile(r"Package\s+Version\b.*\n-+ +-+")


def read_packages(path: str) -> PackageList:
    """Return the packages of a file in any supported format."""
    text = read_text(path)
    try:
        return reader_for(path, text)(path, text)
    except RecursionError:
        raise UnreadableFile(f"{path}: too deeply nested for a list of packages") from None


def reader_for(path: str, text: str) -> Callable[[str, str], PackageList]:
    name, start = os.path.basename(path).lower(), text.lstrip()
    if start.startswith(("{", "[{", "[]")) or (name.endswith(".json") and start.startswith("[")):
        return read_json
    if name.endswith((".lock", ".toml")):
        return read_toml
    if name.endswith((".yml", ".yaml")):
        return read_conda
    if re.search(r"^@EXPLICIT\s*$", text, re.MULTILINE):
        return read_explicit
    if CONDA_LIST.search(text):
        return read_conda_list
    if COLUMNS.search(text):
        return read_columns
    return lambda path, text: RequirementsReader().read(path, text)


def read_toml(path: str, text: str) -> PackageList:
    """uv, poetry, pdm: `[[package]]`; pylock.toml: `[[packages]]`."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise UnreadableFile(f"{path}: not valid TOML: {error}") from None
    packages = document.get("packages", document.get("package"))
    if packages is None and "project" in document:
        return read_project(path, document["project"])
    if not isinstance(packages, list):
        raise UnreadableFile(f"{path}: TOML, but not a lock file: expected `[[package]]` or `[[packages]]`")
    return PackageList(list(pins(p for p in packages if is_for_linux(p))))


def is_for_linux(package: Any) -> bool:
    """Whether the markers of an entry allow Linux and this Python."""
    if not isinstance(package, dict):
        return False
    markers = package.get("resolution-markers") or package.get("marker") or package.get("markers") or []
    if isinstance(markers, dict):  # poetry: one for each group
        markers = list(markers.values())
    return not markers or any(map(marker_applies, [markers] if isinstance(markers, str) else markers))


def marker_applies(marker: Any) -> bool:
    try:
        return applies(Marker(marker)) if isinstance(marker, str) else True
    except InvalidMarker:
        return True


def read_project(path: str, project: Any) -> PackageList:
    """Read the dependencies of a pyproject.toml."""
    lines = project.get("dependencies", []) if isinstance(project, dict) else []
    if not isinstance(lines, list):
        raise UnreadableFile(f"{path}: expected a list of requirements in `dependencies`")
    return RequirementsReader().read(path, "\n".join(line for line in lines if isinstance(line, str)))


def pins(entries: Iterable[Any]) -> Iterator[PackageRequirement]:
    """Yield the entries that have a `name` and a `version`."""
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            version = entry.get("version")
            if isinstance(version, str) and (wanted := pinned(entry["name"], version)):
                yield wanted


def read_json(path: str, text: str) -> PackageList:
    """Read a Pipfile.lock, or the output of `pip list --format json` and `conda list --json`."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnreadableFile(f"{path}: not valid JSON: {error}") from None
    if isinstance(document, list):
        return PackageList(list(pins(document)))
    if "default" not in document or "_meta" not in document:
        raise UnreadableFile(f"{path}: JSON, but neither a Pipfile.lock nor output of `pip list`")
    return PackageList(list(pipfile(document["default"])))


def pipfile(section: Any) -> Iterator[PackageRequirement]:
    for name, entry in section.items() if isinstance(section, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("version"), str) and is_for_linux(entry):
            wanted = requirement_if_valid(name, entry["version"])
            yield from [wanted] if wanted else []


def read_columns(path: str, text: str) -> PackageList:
    """Read the output of `pip list`."""
    lines = (line.split() for line in text.splitlines())
    return PackageList([w for line in lines if len(line) > 1 if (w := pinned(line[0], line[1]))])


def read_explicit(path: str, text: str) -> PackageList:
    """Read the output of `conda list --explicit`: the URL of each package."""
    files = (CONDA_FILE.fullmatch(line.strip()) for line in text.splitlines() if len(line) < LONGEST)
    wanted = [w for f in files if f and (w := pinned(conda_name(f[1]), f[2]))]
    return PackageList(wanted, [CONDA_NOTE], conda_platform(text))


def read_conda_list(path: str, text: str) -> PackageList:
    """Read the output of `conda list` and `conda list --export`: columns, or `name=version=build`."""
    lines = (CONDA_LINE.fullmatch(line.strip()) for line in text.splitlines() if len(line) < LONGEST)
    packages = [(w, f[3] or "") for f in lines if f and (w := pinned(conda_name(f[1]), f[2]))]
    own = any(w.package == "tensorflow" and not build.startswith(FROM_PIP) for w, build in packages)
    return PackageList([w for w, _ in packages], [CONDA_NOTE] if own else [], conda_platform(text))


def conda_platform(text: str) -> str:
    match = CONDA_PLATFORM.search(text)
    return "" if match is None else X86 if match[1] == "64" else ARM


def conda_name(name: str) -> str:
    """Map conda's `tensorflow-base` to `tensorflow`."""
    return "tensorflow" if canonicalize_name(name) == "tensorflow-base" else name


def read_conda(path: str, text: str) -> PackageList:
    """Read conda's environment.yml: the list `dependencies`, and the list `pip` in it."""
    if not re.search(r"^dependencies\s*:", text, re.MULTILINE):
        raise UnreadableFile(f"{path}: YAML, but not a conda environment: expected `dependencies`")
    listing, inside, pip = PackageList(), False, None
    for line in text.splitlines():
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        indent = len(bare) - len(bare.lstrip())
        item = bare.strip().removeprefix("-").strip().strip("\"'")
        if not item or len(item) > LONGEST:
            continue
        if not indent and not bare.startswith("-"):
            inside, pip = bare.startswith("dependencies"), None
        elif inside and item == "pip:":
            pip = indent
        elif inside and pip is not None and indent > pip:
            listing.wanted += pip_line(item)
        elif inside:
            pip = None
            listing.wanted += conda_spec(item)
            listing.notes = [CONDA_NOTE]
    return listing


def pip_line(item: str) -> list[PackageRequirement]:
    try:
        wanted = parse_requirement(item)
    except Error:
        return []  # an option, a folder or a file
    return [wanted] if wanted else []


def conda_spec(item: str) -> list[PackageRequirement]:
    """Read a spec: `tensorflow=2.8`, `conda-forge::tensorflow==2.8.0`, `tensorflow=2.8.0=gpu_py39`."""
    match = CONDA_SPEC.fullmatch(item.partition("[")[0].strip())
    if match is None:
        return []
    name, versions = conda_name(match[1]), re.sub(r"\s+(?=[^<>=!~,|\s]+$)", "=", match[2].strip())
    if exact := re.fullmatch(r"(={0,2})\s*([\d.]+)(\.?\*)?(=.*)?", versions):
        # one equals sign matches any version with this prefix
        fuzzy = exact[3] or (exact[1] != "==" and not exact[4])
        versions = f"=={exact[2].rstrip('.')}{'.*' if fuzzy else ''}"
    return [requirement_if_valid(name, versions) or PackageRequirement(canonicalize_name(name))]
