"""Record when the versions of packages that TensorFlow requires appeared, and the numbers of NumPy's C API.

    python tools/atlas/package_dates.py

Writes src/tfport/atlas/package_dates.json: for each minor version, the day of its first wheel (of its
first file, if it has no wheel), and for NumPy the ABI and API number in the sources of its first and
last version.
"""

import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

from pip._internal.models.index import PyPI

OUT = Path(__file__).parents[2] / "src/tfport/atlas/package_dates.json"
INDEX = f"{PyPI.pypi_url}/{{}}/json"
PACKAGES = ("numpy", "protobuf", "h5py", "keras", "typing-extensions", "grpcio", "ml-dtypes", "wrapt", "gast")
FINAL = re.compile(r"\d+\.\d+(\.\d+)*")
SOURCES = re.compile(r"numpy/_?core/(setup_common\.py|meson\.build)$")
NUMBER = re.compile(r"C_(ABI|API)_VERSION\s*=\s*'?(0x[0-9A-Fa-f]+)")
FIRST_WITH_NUMBERS = (1, 7)
Files = dict[str, list[dict]]


def main() -> None:
    pages = {package: json.loads(fetch(INDEX.format(package)))["releases"] for package in PACKAGES}
    minors = {package: by_minor(page) for package, page in pages.items()}
    record = {
        "recorded": datetime.now(UTC).date().isoformat(),
        "uploaded": {package: days(pages[package], minors[package]) for package in PACKAGES},
        "numpy_c": numpy_numbers(pages["numpy"], minors["numpy"]),
    }
    OUT.write_text(json.dumps(record, indent=1) + "\n")


def fetch(url: str) -> bytes:
    with urlopen(url, timeout=120) as answer:
        return answer.read()


def by_minor(page: Files) -> dict[tuple[int, int], list[str]]:
    """The versions with files, the oldest first, by minor version."""
    versions = sorted((v for v in page if FINAL.fullmatch(v) and page[v]), key=numbers)
    minors: dict[tuple[int, int], list[str]] = {}
    for version in versions:
        minors.setdefault(numbers(version)[:2], []).append(version)
    return minors


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def days(page: Files, minors: dict[tuple[int, int], list[str]]) -> dict[str, str]:
    """The first day of each minor version."""
    return {f"{major}.{minor}": day(page, versions) for (major, minor), versions in minors.items()}


def day(page: Files, versions: list[str]) -> str:
    files = [file for version in versions for file in page[version]]
    wheels = [file for file in files if file["filename"].endswith(".whl")]
    return min(file["upload_time"] for file in wheels or files)[:10]


def numpy_numbers(page: Files, minors: dict[tuple[int, int], list[str]]) -> dict[str, dict[str, str]]:
    """The ABI and API number of each minor version, which its first and last version must share."""
    wanted = {minor: versions for minor, versions in minors.items() if minor >= FIRST_WITH_NUMBERS}
    ends = [versions[end] for versions in wanted.values() for end in (0, -1)]
    with ThreadPoolExecutor(4) as pool:
        read = dict(zip(ends, pool.map(lambda version: c_numbers(page, version), ends), strict=True))
    for versions in wanted.values():
        assert read[versions[0]] == read[versions[-1]], versions
    return {f"{major}.{minor}": read[versions[0]] for (major, minor), versions in wanted.items()}


def c_numbers(page: Files, version: str) -> dict[str, str]:
    source = next(file for file in page[version] if file["packagetype"] == "sdist")
    data = fetch(urljoin(INDEX.format("numpy"), source["url"]))
    found = {
        name.lower(): hex(int(number, 16)) for text in texts(data) for name, number in NUMBER.findall(text)
    }
    assert set(found) == {"abi", "api"}, version
    return found


def texts(data: bytes) -> Iterator[str]:
    """The files of the sources that have the numbers."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        archive = zipfile.ZipFile(io.BytesIO(data))
        yield from (archive.read(name).decode() for name in archive.namelist() if SOURCES.search(name))
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as files:
        for member in files:
            if SOURCES.search(member.name) and (file := files.extractfile(member)):
                yield file.read().decode()


if __name__ == "__main__":
    main()
