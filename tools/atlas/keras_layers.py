"""Record in which releases Keras has which layers, initializers, losses and so on, for `tfport explain`.

    python tools/atlas/keras_layers.py

reads the source of Keras in the wheels of TensorFlow (up to 2.5) and of the keras package that
each later release requires, without importing it, and writes
`src/tfport/explain/keras_layers.json`: spans of releases by class (`keras`), the classes of
packages that are often used with Keras (`packages`), the arguments of constructors that came or
went while their class existed (`arguments`), and the attributes of models, layers and optimizers
that came or went (`attributes`). The last two also cover the package keras before it was a part
of TensorFlow, in versions such as `keras 2.2`.
"""

import ast
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from addon_wheels import fetch
from keras_classes import ClassTable
from package_index import choose, releases
from remote_zip import open_zip

from tfport.atlas.versions import version_key

OUTPUT = Path("src/tfport/explain/keras_layers.json")
LAST_OWN = "2.5"
"""The last minor release that contains its Keras; later ones require the package keras."""
PARTS = (
    "layers|engine|models|export|initializers|optimizers|optimizer_v2|losses|metrics|regularizers|constraints|"
    "activations"
)
IN_TENSORFLOW = re.compile(
    r"tensorflow(_core)?/(contrib|python)/keras/(_impl/keras/|python/keras/)?"
    rf"({PARTS})(/(\w+/)*(?!.*_test)\w+)?\.py$|tensorflow(_core)?/python/ops/init_ops(_v2)?\.py$"
)
IN_KERAS = re.compile(rf"keras/(src/)?({PARTS}|ops)(/(\w+/)*(?!.*_test)\w+)?\.py$")
WITH_BASES = re.compile(
    r"keras/(src/)?(trainers|ops/operation|saving/keras_saveable|backend/tensorflow/(trainer|layer))"
)
"""Further files of Keras 3, with base classes of models and layers."""
STANDALONE = ("2.0.9", "2.1.6", "2.2.5", "2.3.1")
"""Versions of keras for several backends, before 2.4."""
FAMILIES = {
    "model": ("Model", "Sequential", "Functional"),
    "layer": ("Layer", "Dense", "Conv2D", "InputLayer", "BatchNormalization", "Lambda", "LSTM"),
    "optimizer": ("Optimizer", "Adam", "SGD", "RMSprop"),
}
"""The classes whose attributes are recorded, by what they are."""
WITH_FUNCTIONS = re.compile(r"activations|losses|metrics")
"""Files whose functions can be named in a configuration too."""
KERAS = {
    "2.13": "2.13.1", "2.16": "3.0.5", "2.17": "3.2.1", "2.18": "3.5.0", "2.19": "3.8.0",
    "2.20": "3.10.0", "2.21": "3.12.0",
}  # fmt: skip
"""The version of keras at the time of a release, where its number is not that of TensorFlow."""
PROVIDERS = {
    "tensorflow-addons": (
        "0.23.0",
        re.compile(r"tensorflow_addons/(layers|losses|metrics|optimizers|rnn|seq2seq)/(?!.*tests)\w+\.py$"),
    ),
    "tensorflow-hub": ("0.16.1", re.compile(r"tensorflow_hub/keras_layer\w*\.py$")),
}


def members(archive: zipfile.ZipFile, files: re.Pattern[str]) -> list[str]:
    return [member for member in archive.namelist() if files.search(member)]


def classes(archive: zipfile.ZipFile, files: re.Pattern[str]) -> set[str]:
    """The public classes, and functions of some kinds, in the files of a wheel."""
    names: set[str] = set()
    for member in members(archive, files):
        tree = ast.parse(archive.read(member))
        kinds = (ast.ClassDef, ast.FunctionDef) if WITH_FUNCTIONS.search(member) else ast.ClassDef
        names |= {node.name for node in tree.body if isinstance(node, kinds)}
    return {name for name in names if not name.startswith("_")}


def minors() -> dict[str, str]:
    """The last patch of each minor release of TensorFlow."""
    final = [release for release in releases("tensorflow") if re.fullmatch(r"[\d.]+", release)]
    return {".".join(release.split(".")[:2]): release for release in sorted(final, key=version_key)}


def archive_of(minor: str, release: str, folder: Path) -> tuple[zipfile.ZipFile, re.Pattern[str]]:
    """The wheel with the Keras of a release, and which of its files are Keras."""
    if version_key(minor) <= version_key(LAST_OWN):
        return open_zip(choose("tensorflow", release).url), IN_TENSORFLOW
    return wheel("keras", KERAS.get(minor, f"{minor}.0"), folder), IN_KERAS


def wheel(package: str, version: str, folder: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(fetch(package, version, Path(tempfile.mkdtemp(dir=folder))))


@dataclass
class KerasRelease:
    """The classes of a release, with the arguments and attributes that explain reads."""

    classes: set[str]
    arguments: dict[str, set[str]]
    attributes: dict[str, set[str]]

    def accepts(self, name: str, argument: str) -> bool | None:
        """Whether the constructor of a class takes an argument; None if there is no such class."""
        return argument in self.arguments[name] if name in self.classes else None


def read(archive: zipfile.ZipFile, files: re.Pattern[str]) -> KerasRelease:
    names = classes(archive, files)
    sources = {*members(archive, files), *members(archive, WITH_BASES)} - set(tests_of(archive))
    table = ClassTable({path: archive.read(path) for path in sorted(sources)})
    attributes = {
        family: set().union(*(table.attributes(name) for name in of)) for family, of in FAMILIES.items()
    }
    return KerasRelease(names, {name: table.arguments(name) for name in names}, attributes)


def tests_of(archive: zipfile.ZipFile) -> list[str]:
    return [member for member in archive.namelist() if "_test" in member or not member.endswith(".py")]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        by_minor: dict[str, KerasRelease] = {}
        for minor, release in minors().items():
            by_minor[minor] = read(*archive_of(minor, release, folder))
            print(minor, len(by_minor[minor].classes), file=sys.stderr)
        standalone = {
            f"keras {version.rpartition('.')[0]}": read(wheel("keras", version, folder), IN_KERAS)
            for version in STANDALONE
        }
        providers = {
            package: sorted(classes(wheel(package, version, folder), files))
            for package, (version, files) in PROVIDERS.items()
        }
    record = {
        "keras": {
            name: _spans(by_minor, lambda release, n=name: n in release.classes) for name in _names(by_minor)
        },
        "packages": providers,
        "arguments": _arguments([standalone, by_minor]),
        "attributes": _attributes([standalone, by_minor]),
    }
    OUTPUT.write_text(json.dumps(record, separators=(",", ":")) + "\n")


def _names(by_version: dict[str, KerasRelease]) -> list[str]:
    return sorted(set().union(*(release.classes for release in by_version.values())))


def _arguments(series: list[dict[str, KerasRelease]]) -> dict[str, dict[str, list[list[str]]]]:
    """By class and argument, where the class exists and the argument does not always."""
    record: dict[str, dict[str, list[list[str]]]] = {}
    for name in sorted({name for versions in series for name in _names(versions)}):
        releases_with = [
            release for versions in series for release in versions.values() if name in release.classes
        ]
        sets = [release.arguments.get(name, set()) for release in releases_with]
        changed = set().union(*sets) - set.intersection(*sets)
        if changed:
            record[name] = {
                argument: _spans_in(series, lambda r, n=name, a=argument: r.accepts(n, a))
                for argument in sorted(changed)
            }
    return record


def _attributes(series: list[dict[str, KerasRelease]]) -> dict[str, dict[str, list[list[str]]]]:
    """By family and attribute, for attributes that not every version has."""
    record = {}
    for family in FAMILIES:
        sets = [release.attributes[family] for versions in series for release in versions.values()]
        changed = set().union(*sets) - set.intersection(*sets)
        record[family] = {
            name: _spans_in(series, lambda r, f=family, n=name: n in r.attributes[f])
            for name in sorted(changed)
        }
    return record


def _spans_in(
    series: list[dict[str, KerasRelease]], has: Callable[[KerasRelease], bool | None]
) -> list[list[str]]:
    return [span for versions in series for span in _spans(versions, has)]


def _spans(
    by_version: dict[str, KerasRelease], has: Callable[[KerasRelease], bool | None]
) -> list[list[str]]:
    """The first and last version of each run of versions for which `has` is true; None is passed over."""
    rows: list[list[str]] = []
    before = False
    for version, release in by_version.items():
        if (now := has(release)) is None:
            continue
        if now:
            rows[-1:] = [[rows[-1][0], version]] if before else [*rows[-1:], [version, version]]
        before = now
    return rows


if __name__ == "__main__":
    main()
