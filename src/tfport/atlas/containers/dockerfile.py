"""Read the environment that a Dockerfile builds: that of its last stage.

Base images are known by name (`images`), installed packages from `RUN` instructions and the files
that they install, if those lie beside the Dockerfile. Variables of ARG and ENV are replaced as far as
their values are in the file. Nothing is executed or downloaded.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice

from tfport.atlas.containers.images import image_packages, is_known_image
from tfport.atlas.containers.install_commands import Installs, read_installs
from tfport.atlas.package_requirement import PackageList, PackageRequirement, canonical_name, is_tensorflow
from tfport.errors import Error, UnreadableFile
from tfport.startup.dataclass import dataclass, field

FIRST = re.compile(r"\s*(?:#.*\n|\s*\n)*\s*(?:FROM\s+\S|ARG\s+\w)", re.IGNORECASE)
NAMES = re.compile(r"(?:.*\.)?(?:dockerfile|containerfile)(?:[.-].*)?", re.IGNORECASE)
NO_DEFAULT = "its variable has no default; write the value into the file"
NOT_BESIDE = ", which is not beside it: they are unknown"
LARGEST = 1 << 20
MOST_STAGES = 100
MOST_COPIED = 100
COPIED = re.compile(r"--from=(\S+)")
FROM_SOURCE = re.compile(
    r"\bbazel\w*\b.*\bbuild\b.*//tensorflow|\bgithub\.com[/:]tensorflow/tensorflow\b|\bbuild_pip_package\b",
    re.IGNORECASE | re.DOTALL,
)
"""Commands that build TensorFlow itself, or fetch its sources to do so."""
BUILT = "TensorFlow is built from source: its version is unknown"
ReadPackages = Callable[[str], PackageList]
PYTHON_FOLDER = re.compile(
    r"venv|site-packages|dist-packages|\.local|/usr/local|/install|conda|wheel|^/$|/opt"
)
"""Folders that contain Python packages, if another stage installed some."""


def is_dockerfile(path: str, text: str) -> bool:
    """Whether a file is a Dockerfile: by its name, or by its first instruction."""
    if NAMES.fullmatch(os.path.basename(path)):
        return True
    return bool(FIRST.match(text[:4096])) and bool(re.search(r"^\s*FROM\s+\S", text[:LARGEST], re.M | re.I))


def read_dockerfile(path: str, text: str, read_packages: ReadPackages) -> PackageList:
    """Return the packages of the last stage of a Dockerfile; `read_packages` reads what it installs."""
    if len(text) > LARGEST:
        raise UnreadableFile(f"{path}: larger than {LARGEST >> 20} MB, so not a Dockerfile")
    stages = read_stages(text)[:MOST_STAGES]
    if not stages:
        raise UnreadableFile(f"{path}: expected a Dockerfile with a `FROM` instruction")
    return _StageReader(path, stages, read_packages).read()


class _StageReader:
    """Reads the stages that the last one is built from."""

    def __init__(self, path: str, stages: list[DockerStage], read_packages: ReadPackages) -> None:
        self.path, self.stages, self.read_packages = path, stages, read_packages
        self.folder = os.path.dirname(path) or "."
        self._read: dict[int, PackageList] = {}

    def read(self) -> PackageList:
        for number in range(len(self.stages)):
            self._read[number] = self._stage(number)
        listing = self._read[len(self.stages) - 1]
        listing.notes = list(dict.fromkeys(listing.notes))
        missing = [note for note in listing.notes if note.endswith(NOT_BESIDE)]
        if missing and not any(is_tensorflow(wanted.package) for wanted in listing.wanted):
            listing.unknown = listing.unknown or missing[0]
        return listing

    def _stage(self, number: int) -> PackageList:
        stage, listing = self.stages[number], PackageList()
        base = self._earlier(stage.image, number)
        listing.add(base if base is not None else self._base(stage.image.strip("\"'")))
        listing.platform = stage.platform or listing.platform
        copied: list[str] = []
        for instruction in stage.instructions:
            match instruction.name:
                case "RUN":
                    if FROM_SOURCE.search(instruction.arguments):
                        listing.unknown = BUILT
                    for installs in read_installs(_without_flags(instruction.arguments)):
                        self._install(listing, installs, copied)
                case "COPY" | "ADD":
                    self._copy(listing, instruction, number, copied)
        return listing

    def _earlier(self, image: str, number: int) -> PackageList | None:
        """The packages of an earlier stage, by its name or number."""
        wanted = image.lower()
        for other in reversed(range(number)):
            if wanted in (self.stages[other].name, str(other)) and wanted:
                return self._read[other]
        return None

    def _base(self, image: str) -> PackageList:
        if "$" in image:
            return PackageList(unknown=f"the base image {image} is unknown: {NO_DEFAULT}")
        if is_known_image(image) or image == "scratch":
            return image_packages(image)
        return PackageList(unknown=f"the base image {image} is not known, and may have a TensorFlow")

    def _copy(
        self, listing: PackageList, instruction: DockerInstruction, number: int, copied: list[str]
    ) -> None:
        words = [word.strip("\"',[]") for word in instruction.arguments.split()]
        sources = [word for word in words if word and not word.startswith("--")][:-1]
        if not (stage := COPIED.search(instruction.arguments)):
            copied += sources[: MOST_COPIED - len(copied)]
        elif any(map(PYTHON_FOLDER.search, sources)):
            other = self._earlier(stage[1], number)
            if other is not None:
                _install_over(listing, other)

    def _install(self, listing: PackageList, installs: Installs, copied: list[str]) -> None:
        removed = {canonical_name(name) for name in installs.removed}
        listing.wanted = [wanted for wanted in listing.wanted if wanted.package not in removed]
        for name in dict.fromkeys(installs.files[:MOST_COPIED]):
            self._install_file(listing, name, copied)
        _install_over(listing, installs.listing)
        for word in filter(_names_tensorflow, installs.unclear):
            listing.unknown = f"the version in {word!r} is unknown: {NO_DEFAULT}"

    def _install_file(self, listing: PackageList, name: str, copied: list[str]) -> None:
        path = next(self._places(name, copied), None)
        if path is None:
            listing.notes.append(f"{self.path} installs the packages of {name or 'a file'}{NOT_BESIDE}")
            return
        try:
            _install_over(listing, self.read_packages(path))
        except Error as error:
            listing.notes.append(str(error))

    def _places(self, name: str, copied: list[str]) -> Iterator[str]:
        """Files of the build context that a file in the image can be a copy of."""
        base = os.path.basename(name)
        if not base or "$" in name:
            return
        contexts = [self.folder, os.path.join(self.folder, os.pardir)]
        candidates = [source for source in copied if os.path.basename(source) == base]
        candidates += [name.lstrip("/"), *(os.path.join(source, base) for source in copied), base]
        for context in contexts:
            root = os.path.realpath(context)
            for candidate in candidates:
                path = os.path.join(context, candidate.lstrip("/"))
                real = os.path.realpath(path)
                if os.path.isfile(real) and os.path.commonpath([root, real]) == root:
                    yield os.path.normpath(path)


def _without_flags(arguments: str) -> str:
    """The script of a `RUN` without flags such as `--mount=type=cache,…`."""
    return re.sub(r"^(?:--\w+(?:=\S+)?\s+)+", "", arguments)


def _names_tensorflow(word: str) -> bool:
    return is_tensorflow(canonical_name(re.split(r"[^\w.-]", word, maxsplit=1)[0]))


def _install_over(listing: PackageList, other: PackageList) -> None:
    """Install packages over those that are there; a requirement that is already met changes nothing."""
    present = {wanted.package: wanted for wanted in listing.wanted}
    for wanted in other.wanted:
        before = present.get(wanted.package)
        if before is None or not _meets(before, wanted):
            present[wanted.package] = wanted
    listing.wanted = list(present.values())
    listing.notes += other.notes
    listing.cuda |= other.cuda
    listing.device = other.device or listing.device
    listing.python = listing.python or other.python
    listing.unknown = "" if any(is_tensorflow(wanted.package) for wanted in other.wanted) else listing.unknown
    listing.unknown = other.unknown or listing.unknown


def _meets(before: PackageRequirement, wanted: PackageRequirement) -> bool:
    return before.pin is not None and wanted.versions.contains(before.pin, prereleases=True)


# The syntax of a Dockerfile: instructions, build stages and variables.

MOST_INSTRUCTIONS = 10_000
MOST_HEREDOCS = 16
LONGEST_VALUE = 4096
"""Longest value of a variable, in characters: values can contain each other."""
MOST_REPLACED = 1 << 18
"""How many characters variables may add to one instruction."""
ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)\s*", re.IGNORECASE)
DIRECTIVE = re.compile(r"#\s*(syntax|check|escape)\s*=", re.IGNORECASE)
INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)
HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?([-+])([^{}]*))?\})")
FROM = re.compile(r"((?:--\S+\s+)*)(\S+)(?:\s+[Aa][Ss]\s+(\S+))?\s*")
ASSIGNMENT = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\\]|\\.)*)")


@dataclass
class DockerInstruction:
    """One instruction of a stage, such as `RUN` with its arguments."""

    name: str
    arguments: str
    line: int


@dataclass
class DockerStage:
    """What follows one `FROM`."""

    image: str
    """Its base: an image, or the name or number of an earlier stage."""
    name: str
    platform: str = ""
    instructions: list[DockerInstruction] = field(default_factory=list)


def read_stages(text: str) -> list[DockerStage]:
    """Return the stages of a Dockerfile; empty if it has no `FROM`."""
    stages: list[DockerStage] = []
    shared: dict[str, str] = {}
    variables: dict[str, str] = {}
    for instruction in _instructions(text):
        match instruction.name:
            case "FROM":
                if base := FROM.fullmatch(substitute(instruction.arguments, shared)):
                    stages.append(DockerStage(base[2], (base[3] or "").lower(), _platform(base[1])))
                    variables = _inherited(stages, base[2], variables)
            case "ARG":
                _declare(instruction.arguments, variables if stages else shared, shared)
            case "ENV":
                variables |= _environment(substitute(instruction.arguments, variables))
            case _ if stages:
                arguments = substitute(instruction.arguments, variables)
                stages[-1].instructions.append(
                    DockerInstruction(instruction.name, arguments, instruction.line)
                )
    return stages


def substitute(text: str, variables: dict[str, str]) -> str:
    """Replace the variables of a text that have a value; others stay as they are."""
    left = MOST_REPLACED

    def value(match: re.Match[str]) -> str:
        nonlocal left
        name, operator, other = match[1] or match[2], match[3], match[4] or ""
        known = variables.get(name, "")
        if operator == "+":
            new = other if known else ""
        else:
            new = known or (other if operator == "-" else match[0])
        left -= len(new)
        return new if left > 0 else match[0]

    return VARIABLE.sub(value, text)


def _instructions(text: str) -> Iterator[DockerInstruction]:
    escape = "\\"
    lines = text.splitlines()
    for line in lines:
        if directive := ESCAPE.fullmatch(line.strip()):
            escape = directive[1]
        if not DIRECTIVE.match(line.strip()):
            break
    ends = defaultdict[str, list[int]](list)
    for number, line in enumerate(lines):
        ends[line.strip()].append(number)
    at = count = 0
    while at < len(lines) and count < MOST_INSTRUCTIONS:
        first, (at, whole) = at, _logical_line(lines, at, escape)
        if match := INSTRUCTION.fullmatch(whole):
            body, at = _heredocs(lines, ends, at, match[2] or "")
            count += 1
            yield DockerInstruction(match[1].upper(), f"{match[2] or ''}{body}".strip(), first + 1)


def _logical_line(lines: list[str], at: int, escape: str) -> tuple[int, str]:
    """The line at a position joined with its continuations, without comments; and the next position."""
    parts: list[str] = []
    while at < len(lines):
        line, at = lines[at], at + 1
        if line.lstrip().startswith("#") or (parts and not line.strip()):
            if not parts:
                return at, ""
            continue
        stripped = line.rstrip()
        if not stripped.endswith(escape):
            return at, "".join([*parts, line])
        parts.append(stripped[:-1] + " ")
    return at, "".join(parts)


def _heredocs(lines: list[str], ends: dict[str, list[int]], at: int, arguments: str) -> tuple[str, int]:
    """The bodies of the here-documents of an instruction, and the position after them."""
    body: list[str] = []
    for match in islice(HEREDOC.finditer(arguments), MOST_HEREDOCS):
        marks = ends.get(match[2], [])
        if (nearest := bisect_left(marks, at)) < len(marks):
            body += lines[at : marks[nearest]]
            at = marks[nearest] + 1
    return "".join(f"\n{line}" for line in body), at


def _platform(flags: str) -> str:
    """The machine that `--platform=linux/arm64` names."""
    if "arm64" in flags or "aarch64" in flags:
        return "aarch64"
    return "x86_64" if "amd64" in flags else ""


def _inherited(stages: list[DockerStage], image: str, variables: dict[str, str]) -> dict[str, str]:
    """A stage that continues the one before it keeps its variables."""
    earlier = stages[-2] if len(stages) > 1 else None
    return dict(variables) if earlier is not None and image.lower() == earlier.name else {}


def _declare(arguments: str, variables: dict[str, str], shared: dict[str, str]) -> None:
    """`ARG NAME=default`, or `ARG NAME`, which takes the default before the first `FROM`."""
    for match in re.finditer(r"(\w+)(?:=(\"[^\"]*\"|'[^']*'|\S*))?", arguments):
        name, default = match[1], match[2]
        if default is not None:
            variables[name] = substitute(default.strip("\"'"), {**shared, **variables})[:LONGEST_VALUE]
        elif name in shared:
            variables[name] = shared[name]


def _environment(arguments: str) -> dict[str, str]:
    """`ENV NAME=value …`, or the old form `ENV NAME value`."""
    first, _, rest = arguments.strip().partition(" ")
    if "=" in first:
        return {m[1]: m[2].strip("\"'")[:LONGEST_VALUE] for m in ASSIGNMENT.finditer(arguments)}
    return {first: rest.strip()[:LONGEST_VALUE]} if first else {}
