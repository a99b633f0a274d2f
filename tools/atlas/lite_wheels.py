"""Fetch the TensorFlow Lite interpreter of a wheel, and a Python that can import it.

`unpack_members(wheel, NEEDED, folder)` downloads only the members of a wheel that the interpreter needs, a
few megabytes of several hundred. `python_for(tag)` is a virtual environment with NumPy, which the
wrapper of the interpreter uses.
"""

import re
import shutil
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

from package_index import File, files
from remote_zip import open_zip

from tfport.atlas.versions import version_key

TFLITE_RUNTIME, LITERT, TENSORFLOW = "tflite-runtime", "ai-edge-litert", "tensorflow"
PACKAGES = (TFLITE_RUNTIME, LITERT, TENSORFLOW)
FIRST = {TENSORFLOW: "1.12.0"}
"""The first release that is recorded: interpreters before 1.12 do not look at versions of ops."""
PYTHONS = ("311", "310", "39", "38", "37", "36")
WRAPPER = re.compile(r"/_(py|tensorflow_)wrap_(tensorflow_|litert_)?interpreter_wrapper(\.[^/]*)?\.so$")
NEEDED = re.compile(
    WRAPPER.pattern
    + r"|/tensorflow_wrap_interpreter_wrapper\.py$|/libtensorflow_framework\.so[.\d]*$"
    + r"|/lib_?pywrap_(tflite|litert|tensorflow_lite)_common\.so$|/libLiteRt(RuntimeCApi)?\.so$"
)
FLEX = re.compile(
    r"/libtensorflow_(framework|cc)\.so[.\d]*$|/python/_pywrap_tensorflow_internal\.so$|_common\.so$|/lib\w+\.so\.so$"
)
ENVIRONMENTS = Path("~/.cache/tfport/lite-pythons").expanduser()
INTERPRETERS = Path("~/.pyenv/versions").expanduser()
HEADER = 30


def releases_of(package: str) -> list[str]:
    """The releases of a package with an interpreter, the oldest first."""
    versions = {f.release for f in files(package) if f.platform == "x86_64" and f.python in PYTHONS}
    first = version_key(FIRST.get(package, "0"))
    return sorted((v for v in versions if version_key(v) >= first), key=version_key)


def wheel_of(package: str, version: str) -> File | None:
    """The wheel of a release for the newest Python that is used here; None if it has none."""
    by_python = {f.python: f for f in files(package) if (f.release, f.platform) == (version, "x86_64")}
    return next((by_python[python] for python in PYTHONS if python in by_python), None)


def wrapper_in(folder: Path) -> Path:
    """The wrapper of the interpreter in an unpacked wheel."""
    wrappers = sorted(path for path in folder.rglob("*.so") if WRAPPER.search(str(path)))
    if not wrappers:
        raise LookupError(f"{folder}: no interpreter")
    return wrappers[0]


def package_in(folder: Path) -> Path:
    """The folder of TensorFlow in an unpacked wheel."""
    return next(folder.rglob("libtensorflow_framework.so*")).parent


def unpack_members(wheel: File, wanted: re.Pattern[str], folder: Path) -> None:
    """Download the members of a wheel whose names match, each with one request."""
    for info in open_zip(wheel.url).infolist():
        if wanted.search(info.filename):
            path = folder / info.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as out:
                out.writelines(_member(wheel.url, info))


def _member(url: str, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of a member of a remote zip file, in blocks."""
    start = info.header_offset
    with urlopen(Request(url, headers={"Range": f"bytes={start}-"}), timeout=180) as answer:
        name, extra = struct.unpack("<HH", answer.read(HEADER)[26:])
        answer.read(name + extra)
        inflate = zlib.decompressobj(-15) if info.compress_type == zipfile.ZIP_DEFLATED else None
        left = info.compress_size
        while left:
            block = answer.read(min(left, 1 << 20))
            left -= len(block)
            yield inflate.decompress(block) if inflate else block


def python_for(tag: str) -> Path:
    """The Python of a virtual environment with NumPy, for wheels of a tag such as `39`."""
    folder = ENVIRONMENTS / tag
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        base = next(INTERPRETERS.glob(f"{tag[0]}.{tag[1:]}.*/bin/python"), None)
        path = base or shutil.which(f"python{tag[0]}.{tag[1:]}")
        if path is None:
            raise SystemExit(f"Python {tag[0]}.{tag[1:]} is not installed")
        subprocess.run([path, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--prefer-binary", "numpy<2"], check=True)
        (folder / "ready").touch()
    return python
