"""The libraries and headers of releases, cached while op libraries are built for them.

    release("2.8.4")    the folder of its package, with libtensorflow_framework.so.2 and include/

They are cached in ~/.cache/tfport/libraries; remove that folder when done.
"""

import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from package_index import File, choose, files
from records import release_order
from wheels import fetch, package_in, unpack

CACHE = Path("~/.cache/tfport/libraries").expanduser()
MORE = re.compile(r"/include/|/pywrap_dlopen_global_flags\.py$")


@dataclass(frozen=True)
class Release:
    """An unpacked wheel of TensorFlow."""

    version: str
    wheel: str
    sha256: str
    package: Path

    @property
    def headers(self) -> Path:
        return self.package / "include"

    @property
    def standard(self) -> str:
        """The C++ standard of the release: with a newer one, its functions take another string_view."""
        return "c++14" if release_order(self.version) < (2, 10) else "c++17"

    @property
    def is_global(self) -> bool:
        """Whether its Python package lets every library see its symbols: since 2.20."""
        return (self.package / "python/pywrap_dlopen_global_flags.py").exists()

    @property
    def framework(self) -> Path:
        """The library that ops are linked with."""
        return next(self.package.glob("libtensorflow_framework.so.[12]"))


def release(version: str) -> Release:
    """A release, downloaded once; `1.14.0-cp37` is the wheel for one Python."""
    folder = CACHE / version
    if not (folder / "wheel.json").exists():
        download(wheel_file(version), folder)
    facts = json.loads((folder / "wheel.json").read_text())
    return Release(version, facts["wheel"], facts["sha256"], package_in(folder))


def wheel_file(version: str) -> File:
    number, _, python = version.partition("-cp")
    if not python:
        return choose("tensorflow", number)
    key = (number, "x86_64", python)
    return next(f for f in files("tensorflow") if (f.release, f.platform, f.python) == key)


def download(file: File, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wheel = fetch(file, folder)
    unpack(wheel, folder, MORE)
    wheel.unlink()
    for purelib in folder.glob("*.data/purelib"):  # old wheels have half of their headers there
        shutil.copytree(purelib, folder, dirs_exist_ok=True)
        shutil.rmtree(purelib)
    (folder / "wheel.json").write_text(json.dumps({"wheel": file.name, "sha256": file.sha256}))
