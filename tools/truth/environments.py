"""Create a virtual environment with a given release of TensorFlow.

    with environment("tensorflow", "1.15.5") as python: ...       a path: bin/python

The environment uses the newest installed interpreter that the release has a wheel for, and
dependencies of the same age: those that pip chooses today for a release of 2019 do not import.
`tfport fix --prove` uses the same environments. A new one is removed after use, unless with `keep`.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from package_index import pythons
from records import release_order as release_order

from tfport.fix.prove.environments import READY, CannotProve, PackageRelease, cache_folder, make_environment


@contextmanager
def environment(package: str, release: str, keep: bool = False) -> Iterator[Path]:
    """Yield the Python of an environment that has the release."""
    folder = cache_folder() / f"{package}-{release}"
    is_new = not (folder / READY).exists()
    try:
        if is_new:
            make(folder, package, release)
        yield folder / "bin" / "python"
    finally:
        if is_new and not keep:
            shutil.rmtree(folder, ignore_errors=True)


def make(folder: Path, package: str, release: str) -> None:
    try:
        make_environment(folder, PackageRelease(package, release, pythons(package, release, "x86_64")))
    except CannotProve as error:
        raise SystemExit(str(error)) from None


def installed(python: Path, package: str) -> str | None:
    """Return the version of a package in the environment of this Python, or None."""
    done = subprocess.run([python, "-m", "pip", "show", package], capture_output=True, text=True)
    version = re.search(r"^Version: (.+)$", done.stdout, re.MULTILINE)
    return version[1] if version else None
