"""Which releases of TensorFlow and Keras have a Python module, or a name in it.

`presence(module, name)` reads `python_names.json.xz`, which `tools/atlas/python_names.py` records from
the wheels. Modules are known by their public names: `tensorflow.io`, also if a message calls
it `tensorflow._api.v2.io`. Names with a leading underscore are recorded for private modules only.
"""

from __future__ import annotations

import functools
import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfport.startup.dataclass import dataclass

RECORDED = Path(__file__).with_name("python_names.json.xz")
INTERNAL = re.compile(r"^tensorflow(_core)?(\._api\.v[12]|\.tools\.api\.generator\.api)?(?=\.|$)")
KERAS_OF_TENSORFLOW = re.compile(r"^keras\.(api\._v2|_tf_keras)\.keras(?=\.|$)")
PRIVATE = re.compile(
    r"^tensorflow\.(python|contrib|core|compiler|lite\.python|tools|dtensor|security|tsl|__internal__|experimental)\b"
    r"|^keras\.(src|engine|__internal__|_)"
)
OLD_API = "tensorflow.compat.v1"
MOST_PLACES = 2


@dataclass(frozen=True)
class Presence:
    """The minor releases of a package that have a module or a name."""

    package: str
    spans: tuple[tuple[str, str], ...]
    """The first and the last release of each run of releases."""
    first: str
    """The first release of which the names are recorded."""
    newest: str

    @property
    def always(self) -> bool:
        return self.spans == ((self.first, self.newest),)

    @property
    def is_current(self) -> bool:
        """Whether the newest release has it."""
        return bool(self.spans) and self.spans[-1][1] == self.newest

    def __str__(self) -> str:
        return ", ".join(map(self._span_text, self.spans))

    def _span_text(self, span: tuple[str, str]) -> str:
        first, last = span
        if last == self.newest:
            return f"since {first}"
        if first == self.first:
            return f"up to {last}"
        return first if first == last else f"{first} to {last}"


def public_name(module: str) -> str:
    """The name under which a module is recorded."""
    return KERAS_OF_TENSORFLOW.sub("tensorflow.keras", INTERNAL.sub("tensorflow", module))


def presence(module: str, name: str | None = None) -> Presence | None:
    """Where a module, or a name in it, is; None if the package or the module is not recorded."""
    module = public_name(module)
    package = module.partition(".")[0]
    recorded = _recorded().get(package)
    if recorded is None or (name is not None and module not in recorded["modules"]):
        return None
    is_hidden = name is not None and name.startswith("__") and not PRIVATE.match(module)
    if is_hidden and f"{module}.{name}" not in recorded["modules"]:
        return None
    having = _releases_with(recorded, module, name)
    releases = recorded["releases"]
    first = 0 if name is None else _first_with_names(recorded, module, having)
    return Presence(package, tuple(_spans(releases, having)), releases[first], releases[-1])


def _first_with_names(recorded: dict[str, Any], module: str, having: set[int]) -> int:
    """The first release of which the names of a module are recorded: of some only the module is known."""
    runs, names = recorded["modules"][module]
    with_names = having.union(*map(_numbers, names))
    return min(with_names, default=0) if min(_numbers(runs)) < min(with_names, default=0) else 0


def other_places(module: str, name: str) -> list[str]:
    """Public modules of the newest release that have the name: first those that are not of TensorFlow 1."""
    module = public_name(module)
    package = module.partition(".")[0]
    recorded = _recorded()[package]
    newest = len(recorded["releases"]) - 1
    places = [
        other
        for other in recorded["modules"]
        if other != module and not PRIVATE.match(other) and newest in _releases_with(recorded, other, name)
    ]
    old = module.replace("tensorflow", OLD_API, 1)
    current = [place for place in places if not place.startswith(OLD_API)]
    if old in places:  # functions of Keras often have the name of another one of TensorFlow
        current = [place for place in current if "keras" not in place]
    nearest = sorted(current, key=lambda place: (place.count("."), place))[:MOST_PLACES]
    return [f"{place}.{name}" for place in [*nearest, *([old] if old in places else [])]]


def modules_with(name: str) -> list[str]:
    """The modules that have a name in some release: first those that contain a module of that name."""
    modules = {
        module: f"{module}.{name}" in recorded["modules"]
        for recorded in _recorded().values()
        for module in recorded["modules"]
        if _releases_with(recorded, module, name)
    }
    return sorted(modules, key=lambda module: (not modules[module], module.count("."), module))


def _releases_with(recorded: dict[str, Any], module: str, name: str | None) -> set[int]:
    having: set[int] = set()
    if name is None:
        return _numbers(recorded["modules"][module][0]) if module in recorded["modules"] else having
    if module in recorded["modules"]:
        for runs, names in recorded["modules"][module][1].items():
            if name in names.split(" "):
                having |= _numbers(runs)
    return having | _releases_with(recorded, f"{module}.{name}", None)


def _numbers(runs: str) -> set[int]:
    ends = (run.split("-") for run in runs.split(","))
    return {number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)}


def _spans(releases: list[str], having: set[int]) -> Iterator[tuple[str, str]]:
    for number in sorted(having):
        if number - 1 not in having:
            first = releases[number]
        if number + 1 not in having:
            yield first, releases[number]


@functools.cache
def _recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(lzma.decompress(RECORDED.read_bytes()))
    return recorded
