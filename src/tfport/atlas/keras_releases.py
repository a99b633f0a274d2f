"""What every release of Keras accepts: classes, the arguments of their constructors, public names.

Recorded from the sources of keras, tf-keras, keras-core and TensorFlow up to 2.5 by
`tools/atlas/keras_releases.py`. `keras_releases("keras")` are those of a package;
`keras_of_tensorflow("2.8.4")` the Keras that a TensorFlow uses.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from tfport.atlas.versions import version_key
from tfport.startup.dataclass import dataclass, field

KERAS, TF_KERAS, KERAS_CORE, TENSORFLOW = "keras", "tf-keras", "keras-core", "tensorflow"
PACKAGES = (KERAS, TF_KERAS, KERAS_CORE)
"""The packages that contain a Keras of their own."""
KINDS = (
    "layer", "initializer", "activation", "regularizer", "constraint", "policy", "optimizer", "loss",
    "metric", "operation",
)  # fmt: skip
INNER = "inner layer"
"""A layer that Keras 3 finds only in the module that a configuration names: `TFDConcat` of a FeatureSpace."""
CLOSED, CHECKED, IGNORED = "closed", "checked", "ignored"
RE_EXPORTED = "2.4"
"""The minor release of keras that only re-exports the Keras of TensorFlow, the same minor."""
FIRST_PACKAGED = "2.6"
"""The first TensorFlow that requires the package keras."""
FIRST_KERAS_3 = "2.16"
"""The first TensorFlow whose Keras is Keras 3."""


@dataclass(frozen=True, slots=True)
class KerasObject:
    """A class, or a function that a configuration can name, in a release of Keras."""

    name: str
    kind: str
    module: str
    """Where it is defined: `keras.src.layers.core.dense`."""
    is_function: bool
    last: str
    """The class whose constructor gets the arguments that no other knows; empty without a constructor."""
    rest: str
    """What it does with them: `closed` (no such argument), `checked` (an error of its own) or `ignored`."""
    arguments: frozenset[str]
    required: tuple[str, ...]
    """The arguments without a default value."""
    exports: tuple[str, ...]
    """Its public names: `keras.layers.Dense`."""
    earlier: Mapping[str, str]
    """Arguments of Keras 1 that it accepts, with their present names."""


@dataclass(frozen=True, eq=False)
class KerasRelease:
    """One release of a Keras."""

    package: str
    version: str
    number: int = field(repr=False)
    """Its index in the record."""

    @property
    def name(self) -> str:
        """For people: `keras 3.15.1`; the Keras inside TensorFlow is `the Keras of tensorflow 2.4.4`."""
        own = f"{self.package} {self.version}"
        return f"the Keras of {own}" if self.package == TENSORFLOW else own

    @cache  # noqa: B019  releases live as long as the program
    def find(self, kind: str, name: str) -> KerasObject | None:
        """The object of a kind and name; None if the release has none."""
        for spans, *row in _record()["classes"][kind].get(name, ()):
            if _contains(spans, self.number):
                return _object("layer" if kind == INNER else kind, name, row)
        return None

    def names(self, kind: str) -> list[str]:
        """The names of all objects of a kind."""
        return [
            name
            for name, rows in _record()["classes"][kind].items()
            if any(_contains(row[0], self.number) for row in rows)
        ]

    def has_module(self, module: str) -> bool:
        """Whether a module of the package can be imported; public modules are imported too."""
        spans = _record()["modules"].get(module)
        return (spans is not None and _contains(spans, self.number)) or module in self._public_modules

    @cached_property
    def exports(self) -> Mapping[str, KerasObject]:
        """Every object by its public names."""
        objects = (self.find(kind, name) for kind in KINDS for name in self.names(kind))
        return {public: known for known in objects if known is not None for public in known.exports}

    @cached_property
    def _public_modules(self) -> frozenset[str]:
        return frozenset(public.rpartition(".")[0] for public in self.exports)


def keras_releases(package: str) -> list[KerasRelease]:
    """The recorded releases of a package, the oldest first."""
    return [release for release in _releases() if release.package == package]


@cache
def keras_names(kind: str) -> frozenset[str]:
    """The names of the objects of a kind in all recorded releases."""
    return frozenset(_record()["classes"][kind])


def keras_of_tensorflow(version: str) -> KerasRelease | None:
    """The Keras that a release of TensorFlow uses by default; None for releases without `tf.keras`.

    Since 2.16 it is any Keras 3: the newest one, which pip installs.
    """
    key = version_key(version)
    if key >= version_key(FIRST_KERAS_3):
        return keras_releases(KERAS)[-1]
    package = KERAS if key >= version_key(FIRST_PACKAGED) else TENSORFLOW
    same = [r for r in keras_releases(package) if version_key(r.version).release[:2] == key.release[:2]]
    return same[-1] if same else None


def _contains(spans: str, number: int) -> bool:
    return any(first <= number <= last for first, last in _ranges(spans))


@cache
def _ranges(spans: str) -> Sequence[tuple[int, int]]:
    return tuple(_parsed(spans))


def _parsed(spans: str) -> Iterator[tuple[int, int]]:
    for span in spans.split(","):
        first, _, last = span.partition("-")
        yield int(first), int(last or first)


def _object(kind: str, name: str, row: Sequence[str]) -> KerasObject:
    module, what, rejects, arguments, required, exports, earlier = row
    last, _, rest = rejects.partition(" ")
    return KerasObject(
        name,
        kind,
        module,
        what == "function",
        last,
        rest or CLOSED,
        frozenset(arguments.split()),
        tuple(required.split()),
        tuple(exports.split()),
        dict(pair.split("=") for pair in earlier.split()),
    )


@cache
def _releases() -> list[KerasRelease]:
    releases = enumerate(_record()["releases"])
    return [KerasRelease(package, version, number) for number, (package, version) in releases]


@cache
def _record() -> dict[str, Any]:
    import lzma  # here, as few commands read it

    with lzma.open(os.path.join(os.path.dirname(__file__), "keras_releases.json.xz")) as file:
        record: dict[str, Any] = json.load(file)
    return record
