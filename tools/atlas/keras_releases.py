"""Record what every release of Keras accepts: its classes, their arguments, their public names.

    python tools/atlas/keras_releases.py                    every release (minutes)
    python tools/atlas/keras_releases.py keras==3.16.0      add a release

Reads the sources of each release as syntax trees, and writes src/tfport/atlas/keras_releases.json.xz,
which `tfport.atlas.keras_releases` reads. A class is stored once with the releases that have it alike.
"""

import argparse
import json
import lzma
import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from keras_classes import ClassTable, KerasClass
from keras_sources import PACKAGES, TENSORFLOW, releases_of, sources
from number_ranges import numbers_in, ranges_of

from tfport.atlas.versions import version_key

OUTPUT = Path("src/tfport/atlas/keras_releases.json.xz")
ROOT = re.compile(
    r"^(tensorflow(_core)?/python/(keras/(_impl/keras/|python/keras/)?)?|(tf_|keras_)?keras(_core)?/(src/)?)"
)
KINDS = {
    "layer": r"(layers|engine|models|legacy/(layers|models)|premade\w*|feature_column)\b",
    "initializer": r"(initializers|initializations|ops/init_ops)",
    "activation": r"activations",
    "regularizer": r"regularizers",
    "constraint": r"constraints",
    "policy": r"(dtype_policies|mixed_precision)",
    "optimizer": r"(optimizers|optimizer_v\d|legacy/optimizer)",
    "loss": r"(losses|objectives)",
    "metric": r"metrics",
    "operation": r"ops/",
}
INNER = "inner layer"
"""A layer that Keras 3 finds only in the module that a configuration names: `TFDConcat` of a FeatureSpace."""
BASES = ("Layer", "Model", "Container", "Network")
"""Classes that every layer and model has among its base classes."""
SOURCE = "/src/"
SNAKE_CASE = b"to_snake_case("
SNAKE_CASED = ("initializer", "regularizer", "constraint")
ALSO_FUNCTIONS = ("initializer", "activation", "regularizer", "constraint", "loss", "metric")
MODULES = re.compile(r"^(tf_)?keras(_core)?/")
Row = list[str]
"""Module, `class` or `function`, what rejects arguments, arguments, required ones, exports, old names."""
Release = tuple[str, str]
"""A package and a version."""
ReleaseRecord = tuple[dict[tuple[str, str], Row], list[str]]
"""The rows by kind and name, and the modules."""


def record(
    sources: Mapping[str, bytes], *, second: bool, imported: bool
) -> Iterator[tuple[tuple[str, str], Row]]:
    """The classes of a release, by kind and name; `imported`: a layer is one of the namespace of layers."""
    inner = [path for path in sources if SOURCE in path] or list(sources)  # the others only re-export
    relative = {ROOT.sub("", path): sources[path] for path in inner}
    modules = {ROOT.sub("", path): _module(path) for path in inner}
    table = ClassTable(relative, second=second)
    namespace = _imported(relative) if imported else None
    for name, definitions in table.classes.items():
        by_kind: dict[str, KerasClass] = {}
        for known in definitions:
            if (kind := _kind(known)) and not name.startswith("_"):
                by_kind.setdefault(kind, known)
        for kind, known in by_kind.items():
            chain = table.chain(known)
            if not _is_kind(kind, chain):
                continue
            if kind == "layer" and namespace and known.name not in namespace and not known.exports:
                kind = INNER
            row = _row(table, chain, modules[known.path])
            yield (kind, name), row
            if kind in SNAKE_CASED and any(
                SNAKE_CASE in text for path, text in relative.items() if _kind_of_path(path) == kind
            ):
                yield (kind, _snake_case(name)), row


def _is_kind(kind: str, chain: list[KerasClass]) -> bool:
    """Whether a class is one that a configuration can name."""
    if any(part.is_function for part in chain):
        return kind in ALSO_FUNCTIONS
    return kind != "layer" or any(part.name in BASES for part in chain)


def _row(table: ClassTable, chain: list[KerasClass], module: str) -> Row:
    known, constructors = chain[0], table.constructors(chain[0])
    last = f"{constructors[-1][0].name} {constructors[-1][1].rest}" if constructors else ""
    return [
        module,
        "function" if any(part.is_function for part in chain) else "class",
        last,
        " ".join(sorted(table.accepted(known))),
        " ".join(constructors[0][1].required if constructors else ()),
        " ".join(known.exports),
        " ".join(f"{old}={new}" for old, new in sorted(table.earlier_arguments(known).items())),
    ]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(sources: Mapping[str, bytes]) -> set[str]:
    """The names that the package of layers imports."""
    texts = [text.decode() for path, text in sources.items() if path == "layers/__init__.py"]
    return {name for text in texts for name in re.findall(r"^from \S+ import (\w+)$", text, re.MULTILINE)} | {
        "Functional",
        "Model",
        "Sequential",
        "InputLayer",
    }


def _kind(known: KerasClass) -> str | None:
    kind = _kind_of_path(known.path)
    public = any(export.startswith("keras.layers.") for export in known.exports)
    return "layer" if kind is None and public else kind


def _kind_of_path(path: str) -> str | None:
    return next((kind for kind, files in KINDS.items() if re.match(files, path)), None)


def _snake_case(name: str) -> str:
    separated = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", separated).lower()


def read(release: Release) -> ReleaseRecord:
    """The classes of a release, and its modules that can be imported."""
    package, version = release
    files = sources(package, version)
    is_keras_3 = package == "keras-core" or (package == "keras" and version_key(version) >= version_key("3"))
    second = package != TENSORFLOW or version_key(version) >= version_key("2")
    modules = [_module(path) for path in files if MODULES.match(path)]
    rows = dict(record(files, second=second, imported=is_keras_3))
    print(package, version, len(rows), file=sys.stderr)
    return rows, sorted(modules)


def stored() -> dict[Release, ReleaseRecord]:
    """What the file has, by release."""
    with lzma.open(OUTPUT) as file:
        document = json.load(file)
    by_release: dict[Release, ReleaseRecord] = {
        (package, version): ({}, []) for package, version in document["releases"]
    }
    numbers = list(by_release)
    for kind, classes in document["classes"].items():
        for name, rows in classes.items():
            for spans, *row in rows:
                for number in numbers_in(spans):
                    by_release[numbers[number]][0][kind, name] = row
    for module, spans in document["modules"].items():
        for number in numbers_in(spans):
            by_release[numbers[number]][1].append(module)
    return by_release


def write(by_release: Mapping[Release, ReleaseRecord]) -> None:
    order = [*PACKAGES, TENSORFLOW]
    numbers = sorted(by_release, key=lambda release: (order.index(release[0]), version_key(release[1])))
    classes: dict[str, dict[str, list[Any]]] = {kind: {} for kind in (*KINDS, INNER)}
    rows: dict[tuple[str, str], dict[str, list[int]]] = {}
    modules: dict[str, list[int]] = {}
    for number, release in enumerate(numbers):
        for key, row in by_release[release][0].items():
            rows.setdefault(key, {}).setdefault(json.dumps(row), []).append(number)
        for module in by_release[release][1]:
            modules.setdefault(module, []).append(number)
    for (kind, name), variants in sorted(rows.items()):
        classes[kind][name] = [[ranges_of(where), *json.loads(row)] for row, where in variants.items()]
    document = {
        "releases": numbers,
        "classes": classes,
        "modules": {module: ranges_of(where) for module, where in sorted(modules.items())},
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    OUTPUT.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("releases", nargs="*", metavar="PACKAGE==VERSION")
    wanted = [tuple(text.split("==")) for text in parser.parse_args().releases]
    by_release: dict[Release, ReleaseRecord] = stored() if wanted else {}
    if not wanted:
        wanted = [(package, v) for package in (*PACKAGES, TENSORFLOW) for v in releases_of(package)]
    with ThreadPoolExecutor(4) as pool:
        for release, rows in zip(wanted, pool.map(read, wanted), strict=True):
            by_release[release] = rows
    write(by_release)


if __name__ == "__main__":
    main()
