"""Which versions does a lock file, or the list of an environment, hold?

`read_packages(path)` knows uv.lock, poetry.lock, pdm.lock, pylock.toml,
Pipfile.lock, conda's environment.yml and lists, what `pip list` and `pip freeze`
print, and requirements files. It goes by content, then by name.
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
CONDA_NOTE = "conda's builds are not recorded: taken from the wheels of the same release"
CONDA_PLATFORM = re.compile(r"^# platform: linux-(64|aarch64)\s*$", re.MULTILINE)
CONDA_LIST = re.compile(r"^# packages in environment at |^# \$ conda create ", re.MULTILINE)
CONDA_LINE = re.compile(r"([\w.-]+)(?:\s+|=)([\w.!+]+)(?:(?:\s+|=)(\S+).*)?")
FROM_PIP = "pypi"
COLUMNS = re.compile(r"Package\s+Version\b.*\n-+ +-+")


def read_packages(path: str) -> PackageList:
    """The packages of a file, whatever tool wrote it."""
    text = read_text(path)
    try:
        return reader_for(path, text)(path, text)
    except RecursionError:
        raise UnreadableFile(f"{path}: nested too deeply to be a list of packages") from None


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
        raise UnreadableFile(f"{path}: no TOML: {error}") from None
    packages = document.get("packages", document.get("package"))
    if packages is None and "project" in document:
        return read_project(path, document["project"])
    if not isinstance(packages, list):
        raise UnreadableFile(f"{path}: TOML, but no lock file: it has no `[[package]]` or `[[packages]]`")
    return PackageList(list(pins(p for p in packages if here(p))))


def here(package: Any) -> bool:
    """Whether an entry is for Linux and this Python, as far as it says so."""
    if not isinstance(package, dict):
        return False
    markers = package.get("resolution-markers") or package.get("marker") or package.get("markers") or []
    if isinstance(markers, dict):  # poetry: one for each group
        markers = list(markers.values())
    return not markers or any(map(holds, [markers] if isinstance(markers, str) else markers))


def holds(marker: Any) -> bool:
    try:
        return applies(Marker(marker)) if isinstance(marker, str) else True
    except InvalidMarker:
        return True


def read_project(path: str, project: Any) -> PackageList:
    """The dependencies of a pyproject.toml."""
    lines = project.get("dependencies", []) if isinstance(project, dict) else []
    if not isinstance(lines, list):
        raise UnreadableFile(f"{path}: expected a list of requirements in `dependencies`")
    return RequirementsReader().read(path, "\n".join(line for line in lines if isinstance(line, str)))


def pins(entries: Iterable[Any]) -> Iterator[PackageRequirement]:
    """Entries with a `name` and a `version`."""
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            version = entry.get("version")
            if isinstance(version, str) and (wanted := pinned(entry["name"], version)):
                yield wanted


def read_json(path: str, text: str) -> PackageList:
    """Pipfile.lock, or what `pip list --format json` and `conda list --json` print."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnreadableFile(f"{path}: no JSON: {error}") from None
    if isinstance(document, list):
        return PackageList(list(pins(document)))
    if "default" not in document or "_meta" not in document:
        raise UnreadableFile(f"{path}: JSON, but neither a Pipfile.lock nor what `pip list` prints")
    return PackageList(list(pipfile(document["default"])))


def pipfile(section: Any) -> Iterator[PackageRequirement]:
    for name, entry in section.items() if isinstance(section, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("version"), str) and here(entry):
            wanted = requirement_if_valid(name, entry["version"])
            yield from [wanted] if wanted else []


def read_columns(path: str, text: str) -> PackageList:
    """What `pip list` prints."""
    lines = (line.split() for line in text.splitlines())
    return PackageList([w for line in lines if len(line) > 1 if (w := pinned(line[0], line[1]))])


def read_explicit(path: str, text: str) -> PackageList:
    """What `conda list --explicit` prints: the address of each package."""
    files = (CONDA_FILE.fullmatch(line.strip()) for line in text.splitlines() if len(line) < LONGEST)
    wanted = [w for f in files if f and (w := pinned(conda_name(f[1]), f[2]))]
    return PackageList(wanted, [CONDA_NOTE], conda_platform(text))


def read_conda_list(path: str, text: str) -> PackageList:
    """What `conda list` and `conda list --export` print: columns, or `name=version=build`."""
    lines = (CONDA_LINE.fullmatch(line.strip()) for line in text.splitlines() if len(line) < LONGEST)
    found = [(w, f[3] or "") for f in lines if f and (w := pinned(conda_name(f[1]), f[2]))]
    own = any(w.package == "tensorflow" and not build.startswith(FROM_PIP) for w, build in found)
    return PackageList([w for w, _ in found], [CONDA_NOTE] if own else [], conda_platform(text))


def conda_platform(text: str) -> str:
    found = CONDA_PLATFORM.search(text)
    return "" if found is None else X86 if found[1] == "64" else ARM


def conda_name(name: str) -> str:
    """conda splits TensorFlow in two: `tensorflow` and `tensorflow-base`."""
    return "tensorflow" if canonicalize_name(name) == "tensorflow-base" else name


def read_conda(path: str, text: str) -> PackageList:
    """conda's environment.yml: the list under `dependencies`, and the one under `pip` in it."""
    if not re.search(r"^dependencies\s*:", text, re.MULTILINE):
        raise UnreadableFile(f"{path}: YAML, but no conda environment: it has no `dependencies`")
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
    """`tensorflow=2.8`, `conda-forge::tensorflow==2.8.0`, `tensorflow>=2.4`, `tensorflow=2.8.0=gpu_py39`."""
    found = CONDA_SPEC.fullmatch(item.partition("[")[0].strip())
    if found is None:
        return []
    name, versions = conda_name(found[1]), re.sub(r"\s+(?=[^<>=!~,|\s]+$)", "=", found[2].strip())
    if exact := re.fullmatch(r"(={0,2})\s*([\d.]+)(\.?\*)?(=.*)?", versions):
        # one equals sign means any version that begins so
        fuzzy = exact[3] or (exact[1] != "==" and not exact[4])
        versions = f"=={exact[2].rstrip('.')}{'.*' if fuzzy else ''}"
    return [requirement_if_valid(name, versions) or PackageRequirement(canonicalize_name(name))]
