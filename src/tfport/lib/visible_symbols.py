"""The TensorFlow symbols that an op library can use in a process.

Before 1.4 and since 2.20, Python loads TensorFlow so that every library sees all its symbols.
In between, a library sees only the symbols of the TensorFlow libraries that it links to.
"""

from __future__ import annotations

from collections.abc import Collection

from tfport.atlas.atlas import ARM, Build
from tfport.atlas.symbols import symbols
from tfport.atlas.versions import version_key
from tfport.lib.tensorflow_libraries import FRAMEWORK

HIDDEN_SINCE, HIDDEN_UNTIL = "1.4", "2.20"
FRAMEWORK_ONLY = " framework"
"""The suffix of recorded names for the symbols that `libtensorflow_framework` alone exports."""


def symbols_name(build: Build, machine: str) -> str:
    """The recorded name of all symbols of a build."""
    return f"{build.requirement} ({ARM})" if machine == ARM else build.requirement


def visible_symbols(build: Build, machine: str, linked: Collection[str]) -> str | None:
    """The recorded name of the symbols that a library sees, given the TensorFlow libraries it links to."""
    whole = symbols_name(build, machine)
    if not version_key(HIDDEN_SINCE) <= version_key(build.version) < version_key(HIDDEN_UNTIL):
        return whole
    if not linked:
        return None
    part = whole + FRAMEWORK_ONLY
    return part if all(map(FRAMEWORK.fullmatch, linked)) and part in symbols().builds else whole
