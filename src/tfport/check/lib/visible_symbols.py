"""Which symbols of TensorFlow does an op library see in the process?

Before 1.4 and from 2.20 on, Python loads TensorFlow so that every library sees all of it.
Between, a library sees those of TensorFlow's libraries that it names itself.
"""

from __future__ import annotations

from collections.abc import Collection

from tfport.atlas.atlas import ARM, Build
from tfport.atlas.symbols import symbols
from tfport.atlas.versions import version_key
from tfport.check.lib.tensorflow_libraries import FRAMEWORK

HIDDEN_SINCE, HIDDEN_UNTIL = "1.4", "2.20"
FRAMEWORK_ONLY = " framework"
"""At the end of a name in the records: what `libtensorflow_framework` alone exports."""


def symbols_name(build: Build, machine: str) -> str:
    """The name of a build in the records of symbols."""
    return f"{build.requirement} ({ARM})" if machine == ARM else build.requirement


def visible_symbols(build: Build, machine: str, linked: Collection[str]) -> str | None:
    """The records' name of what a library sees of a build, by those of TensorFlow's that it is linked to."""
    whole = symbols_name(build, machine)
    if not version_key(HIDDEN_SINCE) <= version_key(build.version) < version_key(HIDDEN_UNTIL):
        return whole
    if not linked:
        return None
    part = whole + FRAMEWORK_ONLY
    return part if all(map(FRAMEWORK.fullmatch, linked)) and part in symbols().builds else whole
