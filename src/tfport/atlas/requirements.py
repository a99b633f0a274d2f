"""Parse requirements and requirements files.

`read_requirements(path)` follows `-r` and `-c`, and skips lines for other systems.
`choose_builds` finds the recorded build for a requirement.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from tfport.atlas.package_requirement import PackageList, PackageRequirement, canonical_name
from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason

LARGEST = 16 * 2**20
LONGEST = 4096
"""Longest line for one package, in characters."""
MOST_FILES = 100
LINUX = {
    "os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64",
}  # fmt: skip
"""The environment for markers: that of the recorded builds."""

INCLUDE = re.compile(r"(-r|--requirement|-c|--constraint)(?:\s*=\s*|\s+|(?<=-[rc]))(\S.*)")
LOCAL_WHEEL = re.compile(r"[^\s;#]*\.whl(?=$|[\s;#])")
AT_WHEEL = re.compile(r"[^/\\\s#?]+\.whl(?=$|[\s#?;])")
COMMENT = re.compile(r"(^|\s)#.*")
LONG = re.compile(r"\d{100}")
"""Too long for a version; Python refuses to parse such numbers."""
OPTIONS = re.compile(r"\s--(hash|config-settings?|global-option|install-option)\b.*")


def pinned(package: str, version: str) -> PackageRequirement | None:
    """Return a requirement for one version; None if the version is invalid."""
    return requirement_if_valid(package, f"=={version}")


def requirement_if_valid(package: str, versions: str) -> PackageRequirement | None:
    """Return a requirement for these versions; None if they are invalid."""
    try:
        return (
            None
            if LONG.search(versions)
            else PackageRequirement(canonical_name(package), str(SpecifierSet(versions)))
        )
    except InvalidSpecifier:
        return None


def parse_requirement(text: str) -> PackageRequirement | None:
    """Parse a requirement as pip does; return None if its marker excludes Linux or this Python."""
    if len(text) > LONGEST or LONG.search(text):
        raise Error(f"{text[:40]!r}… is not a requirement: it, or a number in it, is too long")
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise Error(f"{text!r} is not a requirement: {str(error).splitlines()[0]}") from None
    if requirement.marker is not None and not applies(requirement.marker):
        return None
    if requirement.url and (wheel := AT_WHEEL.search(requirement.url)):
        return from_wheel_name(wheel[0])
    return PackageRequirement(
        canonical_name(requirement.name), str(requirement.specifier), frozenset(map(str, requirement.extras))
    )


def applies(marker: Marker, extra: str = "") -> bool:
    """Whether a marker is true on Linux with this Python."""
    environment = {**default_environment(), **LINUX, "extra": extra}
    try:
        return marker.evaluate(environment)  # type: ignore[arg-type]
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError):
        return True


def from_wheel_name(name: str) -> PackageRequirement:
    """Return the package and version in the file name of a wheel."""
    try:
        package, version, _, _ = parse_wheel_filename(name.replace("%2B", "+").replace("%2b", "+"))
    except (InvalidWheelFilename, ValueError):
        raise Error(
            f"{name}: not the file name of a wheel; expected one such as tensorflow-2.8.4-cp310-…"
        ) from None
    return PackageRequirement(package, f"=={version}")


def read_text(path: str) -> str:
    """Read a text file in UTF-8, or in UTF-16 with a byte order mark."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    if len(data) > LARGEST:
        raise UnreadableFile(f"{path}: larger than {LARGEST >> 20} MB, so not a list of packages")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path}: not a text file, so not a list of packages") from None


def read_requirements(path: str) -> PackageList:
    """Read a requirements file, and the files that it includes."""
    return RequirementsReader().read(path, read_text(path))


class RequirementsReader:
    """Reads requirements files, with constraints."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._constraints: dict[str, SpecifierSet] = {}
        self._wanted: list[PackageRequirement] = []
        self._left_out: set[str] = set()

    def read(self, path: str, text: str) -> PackageList:
        self._read(path, text, constraint=False)
        wanted = [self._constrained(w) for w in self._wanted]
        skipped = sorted(self._left_out & {w.package for w in wanted})
        notes = (
            [f"{path}: lines for another system or Python are skipped ({', '.join(skipped)})"]
            if skipped
            else []
        )
        return PackageList(wanted, notes)

    def _read(self, path: str, text: str, *, constraint: bool) -> None:
        self._seen.add(os.path.realpath(path))
        for number, line in logical_lines(text):
            try:
                self._line(path, line, constraint)
            except UnreadableFile:
                raise
            except Error as error:
                raise UnreadableFile(f"{path}, line {number}: {error}") from None

    def _line(self, path: str, line: str, constraint: bool) -> None:
        if include := INCLUDE.fullmatch(line):
            self._include(
                os.path.join(os.path.dirname(path), include[2].strip()), constraint or "-c" in include[1]
            )
            return
        if line.startswith("-"):
            return  # an option of pip
        if "@" not in line and (wheel := LOCAL_WHEEL.match(line)):
            self._wanted.append(from_wheel_name(re.split(r"[/\\]", wheel[0])[-1]))
        elif not is_location(line):
            self._add(line, constraint)

    def _add(self, line: str, constraint: bool) -> None:
        wanted = parse_requirement(line)
        if wanted is None:
            self._left_out.add(canonical_name(Requirement(line).name))
        elif constraint:
            both = self._constraints.get(wanted.package, SpecifierSet()) & wanted.versions
            self._constraints[wanted.package] = both
        else:
            self._wanted.append(wanted)

    def _include(self, path: str, constraint: bool) -> None:
        if os.path.realpath(path) in self._seen:
            return
        if len(self._seen) >= MOST_FILES:
            raise Error(f"more than {MOST_FILES} included files")
        self._read(path, read_text(path), constraint=constraint)

    def _constrained(self, wanted: PackageRequirement) -> PackageRequirement:
        more = self._constraints.get(wanted.package)
        return (
            PackageRequirement(wanted.package, str(wanted.versions & more), wanted.extras)
            if more is not None
            else wanted
        )


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers: continued ones joined, comments and options removed."""
    continued, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            continued += line[:-1] + " "
            continue
        whole = OPTIONS.sub("", COMMENT.sub("", continued + line)).strip()
        if whole:
            yield first, whole
        continued, first = "", 0
    if continued.strip():
        yield first, OPTIONS.sub("", COMMENT.sub("", continued)).strip()


def is_location(line: str) -> bool:
    """Whether a line is a folder, an archive or a URL without a package name."""
    return bool(re.match(r"([a-z][a-z0-9+.-]*://|git\+|\.{0,2}[/\\]|\.+$)", line)) or bool(
        re.fullmatch(r"[^\s;@=<>~!]+\.(zip|tar\.gz|tgz|tar\.bz2)", line)
    )


@functools.lru_cache(maxsize=4096)
def declared_requirement(text: str) -> Requirement | None:
    """Parse a line of Requires-Dist, of which hundreds of builds have the same; None if it is invalid."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def extra_requirements(texts: Iterable[str], extra: str) -> list[PackageRequirement]:
    """Return what an extra adds on Linux, from Requires-Dist: `and-cuda` adds NVIDIA's packages."""
    wanted = []
    for text in texts:
        requirement = declared_requirement(text)
        marker = requirement and requirement.marker
        if requirement and marker and "extra" in str(marker) and applies(marker, extra):
            wanted.append(PackageRequirement(canonical_name(requirement.name), str(requirement.specifier)))
    return wanted
