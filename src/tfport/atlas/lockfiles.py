"""Read the packages of lock files and of listed environments.

`read_packages(path)` supports uv.lock, poetry.lock, pdm.lock, pylock.toml,
Pipfile.lock, conda's environment.yml and lists, the output of `pip list` and `pip freeze`,
requirements files and Dockerfiles. It recognizes them by content, then by name.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from packaging.markers import InvalidMarker, Marker

from tfport.atlas.conda_packages import read_conda, read_conda_list, read_explicit
from tfport.atlas.containers.dockerfile import is_dockerfile, read_dockerfile
from tfport.atlas.package_requirement import PackageList, PackageRequirement
from tfport.atlas.requirements import RequirementsReader, applies, pinned, read_text, requirement_if_valid
from tfport.errors import UnreadableFile

CONDA_LIST = re.compile(r"^# packages in environment at |^# \$ conda create ", re.MULTILINE)
COLUMNS = re.compile(r"Package\s+Version\b.*\n-+ +-+")


def read_packages(path: str) -> PackageList:
    """Return the packages of a file in any supported format."""
    text = read_text(path)
    try:
        return reader_for(path, text)(path, text)
    except RecursionError:
        raise UnreadableFile(f"{path}: too deeply nested for a list of packages") from None


def read_listed_packages(path: str) -> PackageList:
    """Return the packages of a file that a Dockerfile installs, which is no Dockerfile itself."""
    text = read_text(path)
    if is_dockerfile(path, text):
        raise UnreadableFile(f"{path}: expected a list of packages, found a Dockerfile")
    return read_packages(path)


def reader_for(path: str, text: str) -> Callable[[str, str], PackageList]:
    name, start = os.path.basename(path).lower(), text.lstrip()
    if start.startswith(("{", "[{", "[]")) or (name.endswith(".json") and start.startswith("[")):
        return read_json
    if is_dockerfile(path, text):
        return lambda path, text: read_dockerfile(path, text, read_listed_packages)
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
