"""Read the environment that a Dockerfile builds: that of its last stage.

Base images are known by name (`images`), installed packages from `RUN` instructions and the files
that they install, if those lie beside the Dockerfile. Nothing is executed or downloaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from tfport.atlas.containers.dockerfile_syntax import DockerInstruction, DockerStage, read_stages
from tfport.atlas.containers.images import image_packages, is_known_image
from tfport.atlas.containers.install_commands import Installs, read_installs
from tfport.atlas.package_names import canonical_name, is_tensorflow
from tfport.atlas.package_requirement import PackageList, PackageRequirement
from tfport.errors import Error, UnreadableFile

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
