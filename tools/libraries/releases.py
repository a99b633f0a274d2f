"""A release's libraries and headers, kept while op libraries are built for it and loaded into it.

    release("2.8.4")    the folder of its package, with libtensorflow_framework.so.2 and include/

They stay in ~/.cache/tfport/libraries; remove that folder when the work is done.
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
        """The C++ that it was built as: with a newer one, its functions take another string_view."""
        return "c++14" if release_order(self.version) < (2, 10) else "c++17"

    @property
    def is_global(self) -> bool:
        """Whether its Python package lets every library see its symbols: so from 2.20 on."""
        return (self.package / "python/pywrap_dlopen_global_flags.py").exists()

    @property
    def framework(self) -> Path:
        """The library that ops are linked with."""
        return next(self.package.glob("libtensorflow_framework.so.[12]"))


def release(version: str) -> Release:
    """The release, brought from the package index once; `1.14.0-cp37` is the wheel for one Python."""
    folder = CACHE / version
    if not (folder / "wheel.json").exists():
        bring(wanted(version), folder)
    facts = json.loads((folder / "wheel.json").read_text())
    return Release(version, facts["wheel"], facts["sha256"], package_in(folder))


def wanted(version: str) -> File:
    number, _, python = version.partition("-cp")
    if not python:
        return choose("tensorflow", number)
    this = (number, "x86_64", python)
    return next(f for f in files("tensorflow") if (f.release, f.platform, f.python) == this)


def bring(file: File, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wheel = fetch(file, folder)
    unpack(wheel, folder, MORE)
    wheel.unlink()
    for purelib in folder.glob("*.data/purelib"):  # where old wheels have half of their headers
        shutil.copytree(purelib, folder, dirs_exist_ok=True)
        shutil.rmtree(purelib)
    (folder / "wheel.json").write_text(json.dumps({"wheel": file.name, "sha256": file.sha256}))
