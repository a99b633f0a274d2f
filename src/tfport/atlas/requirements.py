"""Which packages does a requirement, or a requirements file, ask for?

`read_requirements(path)` follows `-r` and `-c`, and leaves out lines that are for
another system. Which recorded build satisfies a requirement: `target`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason

LARGEST = 16 * 2**20
LONGEST = 4096
"""Characters of a line that names one package."""
MOST_FILES = 100
LINUX = {
    "os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64",
}  # fmt: skip
"""What markers are asked of: the builds that are recorded."""

INCLUDE = re.compile(r"(-r|--requirement|-c|--constraint)(?:\s*=\s*|\s+|(?<=-[rc]))(\S.*)")
LOCAL_WHEEL = re.compile(r"[^\s;#]*\.whl(?=$|[\s;#])")
AT_WHEEL = re.compile(r"[^/\\\s#?]+\.whl(?=$|[\s#?;])")
COMMENT = re.compile(r"(^|\s)#.*")
LONG = re.compile(r"\d{100}")
"""What no version has, and what Python refuses to read as a number."""
OPTIONS = re.compile(r"\s--(hash|config-settings?|global-option|install-option)\b.*")


@dataclass(frozen=True, slots=True)
class PackageRequirement:
    """A package, and which of its versions will do."""

    package: str
    versions: SpecifierSet = field(default_factory=SpecifierSet)
    extras: frozenset[str] = frozenset()

    @property
    def pin(self) -> str | None:
        """The one version that is asked for, if it is one."""
        only = list(self.versions)
        if len(only) == 1 and only[0].operator in ("==", "===") and not only[0].version.endswith(".*"):
            return only[0].version
        return None

    @property
    def text(self) -> str:
        return f"{self.package}{self.versions}"


@dataclass
class PackageList:
    """What a file, a folder or a text asks for."""

    wanted: list[PackageRequirement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    platform: str = ""
    """The machine that it is for, where it says so; others are taken for x86-64."""
    python: str = ""
    """The version of Python that it is for, where it says so."""

    def add(self, other: PackageList) -> None:
        self.wanted += other.wanted
        self.notes += other.notes
        self.platform = other.platform or self.platform
        self.python = other.python or self.python


def pinned(package: str, version: str) -> PackageRequirement | None:
    """A package of one version; None if that is no version."""
    return requirement_if_valid(package, f"=={version}")


def requirement_if_valid(package: str, versions: str) -> PackageRequirement | None:
    """A package with these versions; None if they are none."""
    try:
        return (
            None
            if LONG.search(versions)
            else PackageRequirement(canonicalize_name(package), SpecifierSet(versions))
        )
    except InvalidSpecifier:
        return None


def parse_requirement(text: str) -> PackageRequirement | None:
    """One requirement as pip reads it; None if its marker is not for Linux and this Python."""
    if len(text) > LONGEST or LONG.search(text):
        raise Error(f"{text[:40]!r}… is no requirement: it is too long, or a number in it")
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise Error(f"{text!r} is no requirement: {str(error).splitlines()[0]}") from None
    if requirement.marker is not None and not applies(requirement.marker):
        return None
    if requirement.url and (wheel := AT_WHEEL.search(requirement.url)):
        return from_wheel_name(wheel[0])
    return PackageRequirement(
        canonicalize_name(requirement.name), requirement.specifier, frozenset(map(str, requirement.extras))
    )


def applies(marker: Marker) -> bool:
    """Whether a marker holds on Linux with this Python."""
    environment = {**default_environment(), **LINUX, "extra": ""}
    try:
        return marker.evaluate(environment)  # type: ignore[arg-type]
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError):
        return True


def from_wheel_name(name: str) -> PackageRequirement:
    """The package and the version in the name of a wheel."""
    try:
        package, version, _, _ = parse_wheel_filename(name.replace("%2B", "+").replace("%2b", "+"))
    except (InvalidWheelFilename, ValueError):
        raise Error(f"{name}: no name of a wheel; expected one such as tensorflow-2.8.4-cp310-…") from None
    return PackageRequirement(package, SpecifierSet(f"=={version}"))


def read_text(path: str) -> str:
    """A text file in the encodings that tools write: UTF-8, or UTF-16 with its mark."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    if len(data) > LARGEST:
        raise UnreadableFile(f"{path}: larger than {LARGEST >> 20} MB, so it lists no packages")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path}: not text, so it lists no packages") from None


def read_requirements(path: str) -> PackageList:
    """A requirements file, with the files that it includes."""
    return RequirementsReader().read(path, read_text(path))


class RequirementsReader:
    """Requirements files: what they ask for, and the constraints on it."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._constraints: dict[str, SpecifierSet] = {}
        self._wanted: list[PackageRequirement] = []
        self._left_out: set[str] = set()

    def read(self, path: str, text: str) -> PackageList:
        self._read(path, text, constraint=False)
        wanted = [self._constrained(w) for w in self._wanted]
        gone = sorted(self._left_out & {w.package for w in wanted})
        notes = (
            [f"{path}: lines for another system or Python are left out ({', '.join(gone)})"] if gone else []
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
        if found := INCLUDE.fullmatch(line):
            self._include(
                os.path.join(os.path.dirname(path), found[2].strip()), constraint or "-c" in found[1]
            )
            return
        if line.startswith("-"):
            return  # where packages are looked for, and the like
        if "@" not in line and (wheel := LOCAL_WHEEL.match(line)):
            self._wanted.append(from_wheel_name(re.split(r"[/\\]", wheel[0])[-1]))
        elif not is_location(line):
            self._add(line, constraint)

    def _add(self, line: str, constraint: bool) -> None:
        wanted = parse_requirement(line)
        if wanted is None:
            self._left_out.add(canonicalize_name(Requirement(line).name))
        elif constraint:
            both = self._constraints.get(wanted.package, SpecifierSet()) & wanted.versions
            self._constraints[wanted.package] = both
        else:
            self._wanted.append(wanted)

    def _include(self, path: str, constraint: bool) -> None:
        if os.path.realpath(path) in self._seen:
            return
        if len(self._seen) >= MOST_FILES:
            raise Error(f"more than {MOST_FILES} files include one another")
        self._read(path, read_text(path), constraint=constraint)

    def _constrained(self, wanted: PackageRequirement) -> PackageRequirement:
        more = self._constraints.get(wanted.package)
        return (
            PackageRequirement(wanted.package, wanted.versions & more, wanted.extras)
            if more is not None
            else wanted
        )


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers: continued ones joined, comments and options of a requirement taken off."""
    held, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            held += line[:-1] + " "
            continue
        whole = OPTIONS.sub("", COMMENT.sub("", held + line)).strip()
        if whole:
            yield first, whole
        held, first = "", 0
    if held.strip():
        yield first, OPTIONS.sub("", COMMENT.sub("", held)).strip()


def is_location(line: str) -> bool:
    """Whether a line is a folder, an archive or an address without a name, which says nothing here."""
    return bool(re.match(r"([a-z][a-z0-9+.-]*://|git\+|\.{0,2}[/\\]|\.+$)", line)) or bool(
        re.fullmatch(r"[^\s;@=<>~!]+\.(zip|tar\.gz|tgz|tar\.bz2)", line)
    )


def merged_requirements(
    wanted: Iterable[PackageRequirement], packages: Iterable[str]
) -> list[PackageRequirement]:
    """Those of some packages, each once; where one is named twice, what both ask for."""
    names, found = set(packages), dict[str, PackageRequirement]()
    for one in wanted:
        if one.package in names:
            before = found.get(one.package)
            both = one if before is None else PackageRequirement(
                one.package, before.versions & one.versions, before.extras | one.extras
            )  # fmt: skip
            found[one.package] = both
    return list(found.values())
