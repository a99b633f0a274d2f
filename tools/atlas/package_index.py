"""List the wheels of a package on the package index.

`files(package)` reads a page of the index (pip's default, or PIP_INDEX_URL): each Linux
wheel with its URL, SHA-256 and upload time. `choose` selects one for a release and a
platform, for any Python, because no Python code of it runs.
"""

import os
import re
from dataclasses import dataclass
from functools import cache
from html import unescape
from urllib.parse import urljoin
from urllib.request import Request, urlopen

from pip._internal.models.index import PyPI

PREFERRED = ("311", "310", "39", "38", "37", "36")
FINAL = re.compile(r"\d+(\.\d+)+(\.post\d+)?")
LINK = re.compile(r'<a href="(?P<url>[^"#]+)#sha256=(?P<sha256>\w+)"(?P<more>[^>]*)>(?P<name>[^<]+\.whl)</a>')
ANY_LINK = re.compile(r'<a href="(?P<url>[^"#]+)[^>]*>(?P<name>[^<]+)</a>')
NAME = re.compile(r"[^-]+-(?P<release>[^-]+)(-\d+)?-cp(?P<python>\d+)-\w+-(?P<platform>[\w.]+)\.whl")
HTML = {"Accept": "application/vnd.pypi.simple.v1+html"}  # otherwise a page may lack the upload times
UPLOADED = re.compile(r'data-upload-time="([^"]*)"')


@dataclass(frozen=True)
class File:
    """A wheel on the index."""

    name: str
    release: str
    python: str
    platform: str
    url: str
    sha256: str
    uploaded: str | None


@cache
def files(package: str) -> tuple[File, ...]:
    """Return the Linux wheels of final releases."""
    page, text = index_page(package)
    return tuple(file for link in LINK.finditer(text) if (file := read(page, link)))


@cache
def index_page(package: str) -> tuple[str, str]:
    """Return the address and the text of the page of a package."""
    page = urljoin(os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/") + "/", f"{package}/")
    with urlopen(Request(page, headers=HTML)) as answer:
        return page, answer.read().decode()


def links(package: str) -> list[tuple[str, str]]:
    """Return the name and the address of every file of a package."""
    page, text = index_page(package)
    return [(link["name"], urljoin(page, unescape(link["url"]))) for link in ANY_LINK.finditer(text)]


def read(page: str, link: re.Match[str]) -> File | None:
    name = NAME.fullmatch(link["name"])
    if not name or "linux" not in name["platform"] or not FINAL.fullmatch(name["release"]):
        return None
    platform = next((p for p in ("aarch64", "x86_64") if name["platform"].endswith(p)), None)
    if platform is None:
        return None
    url, uploaded = urljoin(page, unescape(link["url"])), UPLOADED.search(link["more"])
    when = uploaded[1] if uploaded else None
    return File(link["name"], name["release"], name["python"], platform, url, link["sha256"], when)


def choose(package: str, release: str, platform: str = "x86_64") -> File:
    """Return the wheel to use for a release."""
    by_python = {f.python: f for f in files(package) if (f.release, f.platform) == (release, platform)}
    for python in PREFERRED:
        if python in by_python:
            return by_python[python]
    raise LookupError(f"{package}=={release}: no {platform} Linux wheel for Python {', '.join(PREFERRED)}")


def releases(package: str, platform: str = "x86_64") -> list[str]:
    """Return every final release since 1.0 with a wheel for the platform, in the order of the index."""
    names = dict.fromkeys(f.release for f in files(package) if f.platform == platform)
    return [release for release in names if not release.startswith("0.")]


def pythons(package: str, release: str, platform: str) -> list[str]:
    """Return the Python versions for which the release has wheels: ["3.9", "3.10"]."""
    versions = {f.python for f in files(package) if (f.release, f.platform) == (release, platform)}
    return [f"{p[0]}.{p[1:]}" for p in sorted(versions, key=lambda p: (p[0], int(p[1:])))]
