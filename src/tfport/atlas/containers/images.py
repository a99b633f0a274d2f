"""What a container image contains, as far as its name and tag say.

`image_packages("tensorflow/serving:2.8.0-gpu")` is TensorFlow Serving 2.8.0 on a GPU. The table of
known images is `images.toml`. Images are never downloaded or run.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tfport.atlas.package_requirement import PackageList
from tfport.atlas.requirements import pinned, requirement_if_valid
from tfport.startup.dataclass import dataclass

LONGEST = 512
"""More characters than the name of an image may have."""
NAME = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*(?::\d+)?(?:/[a-z0-9][a-z0-9._-]*)*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@sha256:[0-9a-f]{64})?"
)
HUB = re.compile(r"(?:(?:index\.|registry-1\.)?docker\.io/)?(?:library/)?")
VERSION = re.compile(r"v?(?P<version>\d+(?:\.\d+){1,3}(?:-?rc\d+)?)(?:-(?P<words>.+))?")
"""A tag that starts with a version, and the words after it."""
PYTHON_WORD = re.compile(r"(?:py|python|cp)(\d)\.?(\d+)")
CUDA_WORD = re.compile(r"(?:cu|cuda)(\d+?)\.?(\d)")
CUDNN_WORD = re.compile(r"cudnn(\d*)")
NO_TAG = "latest"


@dataclass(frozen=True, slots=True)
class ImageName:
    """A parsed name: `registry:5000/team/model:1.2@sha256:…`."""

    name: str
    tag: str
    digest: str

    @property
    def text(self) -> str:
        return f"{self.name}:{self.tag or NO_TAG}"


@cache
def _table() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("images.toml").read_text("utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["image"]
    return [{**row, "name": re.compile(row["name"])} for row in rows]


def parse_image(text: str) -> ImageName | None:
    """Parse the name of an image; None if the text cannot be one."""
    match = NAME.fullmatch(text) if len(text) <= LONGEST else None
    return ImageName(match["name"], match["tag"] or "", match["digest"] or "") if match else None


def is_known_image(text: str) -> bool:
    """Whether a text names an image whose content is known from its name."""
    image = parse_image(text)
    return image is not None and _row(image) is not None


def image_packages(text: str) -> PackageList:
    """What an image contains; an empty list for an unknown image."""
    image = parse_image(text)
    known = _row(image) if image else None
    if image is None or known is None:
        return PackageList()
    row, facts = known
    if "unknown" in row:
        return PackageList(unknown=_sentence(image, row["unknown"], row))
    tag = VERSION.fullmatch(image.tag)
    version = f"{facts['major']}.{facts['minor']}" if "major" in facts else tag["version"] if tag else ""
    words = ((tag["words"] or "") if tag else image.tag).split("-")
    if missing := next((word for word in words if word in row.get("without", ())), None):
        return PackageList(unknown=_sentence(image, f"an image with `{missing}` in its tag has none", row))
    listing = PackageList(
        notes=[row["note"].format(image=image.text)] if "note" in row else [],
        device="gpu" if "gpu" in (*words, facts.get("device")) else "",
        python=_python([f"py{facts.get('python')}", *words]),
        cuda=_cuda(words),
    )
    _add_content(listing, row, image, version.replace("-", ""), short="major" in facts)
    return listing


def _row(image: ImageName) -> tuple[dict[str, Any], dict[str, str | None]] | None:
    name = HUB.sub("", image.name, count=1)
    for row in _table():
        if match := row["name"].fullmatch(name):
            return row, match.groupdict()
    return None


def _add_content(
    listing: PackageList, row: dict[str, Any], image: ImageName, version: str, *, short: bool
) -> None:
    """Add what the version in a tag is the version of."""
    contains = row["contains"]
    if contains == "python":
        listing.python = ".".join(version.split(".")[:2]) or listing.python
    elif contains == "cuda":
        listing.cuda |= {"cudart": version} if version else {}
    elif contains == "system":
        return
    elif not version:
        listing.unknown = _sentence(image, "its tag does not name a release", row)
    else:
        wanted = requirement_if_valid(contains, f"=={version}.*") if short else pinned(contains, version)
        listing.wanted += [wanted] if wanted else []


def _sentence(image: ImageName, why: str, row: dict[str, Any]) -> str:
    command = row["list"].format(image=image.text)
    return f"the TensorFlow of {image.text} is unknown: {why}; `{command}` shows it"


def _python(words: list[str]) -> str:
    """The Python version in a tag such as `2.8.0-gpu-py39-cu112`."""
    match = next(filter(None, map(PYTHON_WORD.fullmatch, words)), None)
    return f"{match[1]}.{match[2]}" if match else ""


def _cuda(words: list[str]) -> dict[str, str]:
    """The versions of CUDA and cuDNN in a tag."""
    cuda = next(filter(None, map(CUDA_WORD.fullmatch, words)), None)
    cudnn = next(filter(None, map(CUDNN_WORD.fullmatch, words)), None)
    versions = {"cudart": f"{cuda[1]}.{cuda[2]}"} if cuda else {}
    return versions | ({"cudnn": cudnn[1]} if cudnn and cudnn[1] else {})
