"""Parse the text of a target: requirements, files, folders, a header.

`target` resolves the result to builds.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from tfport.atlas.package_requirement import (
    SERVING_PACKAGES,
    TENSORFLOW_PACKAGES,
    PackageList,
    PackageRequirement,
    canonical_name,
    exact_requirement,
)
from tfport.errors import Error, NotAModel, UnreadableFile
from tfport.formats.files import reason
from tfport.formats.find import find_model
from tfport.startup.dataclass import dataclass, field

HEADER_ON = re.compile(r"(.+\.h(?:pp|h)?)@(.+)", re.DOTALL)
AROUND_OPERATOR = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*")
BEFORE_OPERATOR = re.compile(r"\s*,\s*(?=[<>=!~])")
OUTSIDE_BRACKETS = r"(?![^\[\]]*\])"
BETWEEN = re.compile(rf"\s*,(?![<>=!~]){OUTSIDE_BRACKETS}\s*|\s+{OUTSIDE_BRACKETS}")
VERSION = re.compile(r"v?\d[\w.+]*")
NAME = re.compile(r"[A-Za-z][\w-]*(?![\w./\\:@-])")
TENSORFLOW = "tensorflow"
SHORT_NAMES = {
    "tf": TENSORFLOW,
    "serving": "tensorflow-serving",
    "tf-serving": "tensorflow-serving",
    "tflite": "tflite-runtime",
    "litert": "ai-edge-litert",
}
ONE_EQUALS = re.compile(r"([\w.\[\]-]+)=([\w.*+]+)")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
ENDINGS = (
    ".h",
    ".hpp",
    ".hh",
    ".target",
    ".whl",
    ".txt",
    ".lock",
    ".toml",
    ".json",
    ".yml",
    ".yaml",
    ".so",
    ".in",
    ".cc",
    ".cpp",
    ".cxx",
    ".aar",
)
DOCKERFILES = ("dockerfile", "containerfile")
IMAGE = re.compile(r"^[^/\\~.][^\\]*[/:]")
"""What only an image or a path can contain."""
TAGGED = re.compile(r"[a-z0-9][a-z0-9._/:-]*:\w[\w.-]*(?:@sha256:[0-9a-f]{64})?")
SQLITE = b"SQLite format 3\0"
EXPECTED = (
    "expected a package such as tensorflow==2.8.4, an image such as tensorflow/serving:2.8.0, "
    "a requirements or lock file, a Dockerfile, an environment or a wheel"
)


@dataclass
class TargetText:
    """What the text of a target contains."""

    typed: list[PackageRequirement] = field(default_factory=list)
    listed: PackageList = field(default_factory=PackageList)
    files: list[str] = field(default_factory=list)
    """Files and folders that list packages."""
    wheels: list[str] = field(default_factory=list)
    header: str | None = None
    """An `ops_to_register.h`."""
    recorded: str | None = None
    """A file written by `tfport targets record`."""
    lite_builds: list[str] = field(default_factory=list)
    """Libraries and archives of TensorFlow Lite, and sources of op resolvers."""


def parse_target_text(text: str) -> TargetText:
    parts = TargetText()
    whole = text.strip()
    if not whole:
        raise Error(f"the target is empty; {EXPECTED}")
    if "\0" in whole:
        raise Error(f"the target contains a zero byte; {EXPECTED}")
    if header := HEADER_ON.fullmatch(whole):
        _add(parts, header[1])
        whole = header[2].strip()
    for word in [whole] if is_path(whole) and os.path.exists(whole) else words(whole):
        _add(parts, word)
    return parts


def words(text: str) -> list[str]:
    """Split a text into requirements and paths at lines, commas and spaces; `>=2.4, <2.9` stays together."""
    all_words = []
    for line in text.splitlines():
        if ";" in line or " @ " in line:
            all_words.append(line.strip())
        else:
            tight = BEFORE_OPERATOR.sub(",", AROUND_OPERATOR.sub(r"\1", " ".join(line.split())))
            all_words += spelled_out([word for word in BETWEEN.split(tight) if word])
    return all_words


def spelled_out(typed: Sequence[str]) -> list[str]:
    """What people type for a release, as a requirement: `2.8`, `tf 2.8`, `serving 2.8`, `keras 2`."""
    requirements: list[str] = []
    package = None
    for word in typed:
        if VERSION.fullmatch(word) and not os.path.exists(word):
            if package is not None:
                requirements.pop()
            requirements.append(f"{package or TENSORFLOW}=={word.removeprefix('v')}")
            package = None
        else:
            name = NAME.match(word)
            if name and name[0].lower() in SHORT_NAMES and not os.path.exists(word):
                word = SHORT_NAMES[name[0].lower()] + word[name.end() :]
            package = word if NAME.fullmatch(word) else None
            requirements.append(word)
    return requirements


def is_image(word: str) -> bool:
    """Whether a word names a known image; a file or package of the same name takes precedence."""
    if not IMAGE.search(word) or os.path.exists(word):
        return False
    from tfport.atlas.containers.images import is_known_image

    return is_known_image(word)


def is_path(word: str) -> bool:
    """Whether a word names a file or a folder; a package of the same name takes precedence."""
    if ADDRESS.match(word):
        return False
    if word in (".", "..") or word.startswith(("./", "../", "~")) or word.endswith(ENDINGS):
        return True
    if word.lower() in DOCKERFILES or TAGGED.fullmatch(word):
        return True
    if canonical_name(word) in TENSORFLOW_PACKAGES | SERVING_PACKAGES or re.search(r"[<>=!;\[]| @ ", word):
        return False
    return "/" in word or "\\" in word or os.path.exists(word)


def _add(parts: TargetText, word: str) -> None:
    if is_image(word):
        from tfport.atlas.containers.images import image_packages

        _add_listing(parts, word, image_packages(word))
        return
    if not is_path(word):
        _add_requirement(parts, word)
        return
    path = os.path.expanduser(word)
    if word == ".":
        # imported here and below, because most targets do not need it
        from tfport.atlas.installed_packages import this_environment

        _add_listing(parts, f"this Python environment ({sys.prefix})", this_environment())
    elif not os.path.exists(path):
        raise UnreadableFile(f"{word}: no such file or folder{_hint(word)}")
    elif os.path.isdir(path):
        _add_listing(parts, path, _folder(path))
    elif not os.path.isfile(path):
        raise UnreadableFile(f"{path}: expected a file or a folder, found a device, pipe or socket")
    else:
        _add_file(parts, path)


def _hint(word: str) -> str:
    if TAGGED.fullmatch(word):
        return (
            "; if it is a container image, tfport does not download it: unpack it with "
            "`docker export CONTAINER | tar x -C FOLDER`, and name the folder"
        )
    return "" if "/" in word else f"; {EXPECTED}"


def _add_requirement(parts: TargetText, word: str) -> None:
    if ADDRESS.match(word):
        raise Error(f"{word} is a URL, not a path; download the file first")
    if match := ONE_EQUALS.fullmatch(word):
        raise Error(f"{word} has one equals sign; write {match[1]}=={match[2]}")
    wanted = exact_requirement(word)
    if wanted is None:
        from tfport.atlas.requirements import parse_requirement  # slow to import

        wanted = parse_requirement(word)
    if wanted is None:
        raise Error(f"{word}: its marker excludes Linux or this Python")
    parts.typed.append(wanted)


def _add_file(parts: TargetText, path: str) -> None:
    from tfport.atlas.lite.own_build import is_lite_build  # here, as most targets are not files

    if path.endswith((".h", ".hpp", ".hh")):
        if parts.header is not None:
            raise Error(f"two headers, {parts.header} and {path}; a target can have only one")
        parts.header = path
    elif path.endswith(".target") or _head(path).startswith(SQLITE):
        if parts.recorded is not None:
            raise Error(f"two recorded targets, {parts.recorded} and {path}; name only one")
        parts.recorded = path
    elif is_lite_build(path):
        parts.lite_builds.append(path)
    elif path.endswith(".whl"):
        from tfport.atlas.requirements import from_wheel_name

        parts.wheels.append(path)
        parts.typed.append(from_wheel_name(os.path.basename(path)))
    elif _head(path).startswith(b"\x7fELF"):
        raise Error(f"{path} is a library; `tfport targets record` makes a target from a TensorFlow library")
    else:
        _add_listing(parts, path, _packages(path))


def _add_listing(parts: TargetText, path: str, listing: PackageList) -> None:
    parts.files.append(path)
    parts.listed.add(listing)


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(16)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None


def _packages(path: str) -> PackageList:
    try:
        from tfport.atlas.lockfiles import read_packages

        return read_packages(path)
    except UnreadableFile as error:
        raise _model_error(path) or error from None


def _folder(path: str) -> PackageList:
    from tfport.atlas.installed_packages import installed_in

    listing = installed_in(path)
    if listing is None:
        raise _model_error(path) or Error(
            f"{path}: expected a site-packages folder, a virtual environment or the root of an image"
        )
    return listing


def _model_error(path: str) -> Error | None:
    """Return an error if the path is a model, or something similar to one, instead of a target."""
    try:
        model = find_model(path)
    except NotAModel as error:
        text = str(error).partition("; ")[0]
        return None if "text file" in text or os.path.isdir(path) else Error(f"{text}; {EXPECTED}")
    except Error:
        return None
    return Error(f"{path} is a model ({model.format.name}), not a target; {EXPECTED}")
