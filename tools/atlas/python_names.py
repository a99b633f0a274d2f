"""Record in which releases TensorFlow and Keras have which Python modules and names, for `tfport explain`.

    python tools/atlas/python_names.py [--cache FOLDER]

reads the Python sources in the wheels of the last patch of each minor release, with HTTP range
requests and without importing them, and writes `src/tfport/atlas/python_names.json.xz`:
for each module the releases that have it, and for each of its names the releases that have the
name there. Public modules have their public names (`tensorflow.io`, not `tensorflow._api.v2.io`).
`--cache` keeps what was read of each release, so that an interrupted run can continue.
"""

import argparse
import io
import json
import lzma
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from urllib.request import urlopen

from keras_layers import KERAS, LAST_OWN, minors
from module_names import Names, SourceTree
from package_index import choose
from pip._internal.models.index import PyPI
from remote_zip import open_zip

from tfport.atlas.versions import version_key

OUTPUT = Path("src/tfport/atlas/python_names.json.xz")
KERAS_INDEX = f"{PyPI.pypi_url}/keras/json"
REDIRECTING = ("2.4",)
"""Versions of keras whose modules only take everything from `tensorflow.keras`."""
FINAL = re.compile(r"[1-9]\d*(\.\d+)+")
TESTS = re.compile(r"_test$|(^|\.)(tests?|testdata|testing)\.")
SOURCE = re.compile(
    r"(?:.*purelib/|keras-[\d.]+/|Keras-[\d.]+/)?((?:tensorflow|tensorflow_core|keras)/.*)\.py"
)
COMPILED = re.compile(
    r"(?:.*purelib/)?((?:tensorflow|tensorflow_core)/python/.*?)(\.cpython-\w+)?(-\w+)*\.so"
)
KERAS_OF_TENSORFLOW = {
    "keras._tf_keras.keras": "tensorflow.keras",
    "keras.api._v2.keras": "tensorflow.keras",
    "keras.api._v1.keras": "tensorflow.compat.v1.keras",
}
"""Where the package keras has the modules that belong to TensorFlow."""
HIDDEN = re.compile(
    r"(^|\.)_(api|tf_keras)(\.|$)|^tensorflow\.tools\.api|^keras\.api\._v|^tensorflow\.include\."
    r"|compat\.v[12]\.compat|^tensorflow\.compat\.v2|\.raw_ops$"
)
"""Modules that are recorded under their public names, and repetitions of others."""
NO_NAMES = re.compile(r"(^|\.)(gen_\w+|\w+_pb2|\w+_pb2_grpc)$")
DEEPEST = 5
Record = dict[str, list[str]]
"""The names of each module of a release."""


def tensorflow_sources(release: str) -> SourceTree:
    with open_zip(choose("tensorflow", release).url) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.header_offset)
        return _tree({m.filename: archive.read(m) for m in members if SOURCE.fullmatch(m.filename)}, members)


def keras_sources(version: str) -> SourceTree:
    """The sources of the package keras; before 2.0.7 it has no wheels."""
    with urlopen(KERAS_INDEX) as answer:
        files = json.load(answer)["releases"][version]
    file = min(files, key=lambda file: file["packagetype"])  # "bdist_wheel" before "sdist"
    with urlopen(file["url"]) as answer:
        content = io.BytesIO(answer.read())
    if file["packagetype"] == "bdist_wheel":
        archive = zipfile.ZipFile(content)
        return _tree({name: archive.read(name) for name in archive.namelist() if SOURCE.fullmatch(name)})
    with tarfile.open(fileobj=content) as archive:
        members = [member for member in archive if SOURCE.fullmatch(member.name)]
        return _tree({member.name: archive.extractfile(member).read() for member in members})


def _tree(contents: dict[str, bytes], members: list[zipfile.ZipInfo] = ()) -> SourceTree:
    files: dict[str, Callable[[], bytes]] = {}
    for path in sorted(contents, key=lambda path: "tensorflow_core/" in path):  # its __init__ has the names
        name = _dotted(SOURCE.fullmatch(path)[1])
        if not TESTS.search(name):
            files[name] = partial(contents.get, path)
    compiled = [_dotted(match[1]) for m in members if (match := COMPILED.fullmatch(m.filename))]
    return SourceTree(files, compiled)


def _dotted(path: str) -> str:
    return path.replace("tensorflow_core/", "tensorflow/").replace("/", ".")


def recorded(tree: SourceTree, root: str) -> Record:
    """The names of the modules of a release, public ones under their public names."""
    record: Record = {}
    for module in tree.modules:
        if not HIDDEN.search(module):
            record[module] = [] if NO_NAMES.search(module) else sorted(_own_names(tree, tree.names(module)))
    for public, module in _public_modules(tree, root):
        names = {
            name for name in tree.names(module).origins if not name.startswith("_") or name.endswith("__")
        }
        record[public] = sorted(names | set(record.get(public, ())))
    return record


def _own_names(tree: SourceTree, names: Names) -> Iterator[str]:
    """The names of a module without the modules and the other packages that it imports."""
    for name, origin in names.origins.items():
        if origin is None or (
            origin.name and origin.module in tree.modules and tree.module_of(origin) is None
        ):
            yield name


def _public_modules(tree: SourceTree, root: str) -> Iterator[tuple[str, str]]:
    """The modules that can be reached from the package by attributes, with their public names."""
    yield root, root
    todo = [(root, root)]
    seen = {root}
    while todo:
        public, module = todo.pop()
        for name, origin in tree.names(module).origins.items():
            target, path = tree.module_of(origin), f"{public}.{name}"
            if not target or (name.startswith("_") and name != "__internal__") or path in seen:
                continue
            if HIDDEN.search(path) or path.count(".") > DEEPEST or path.startswith("tensorflow.contrib"):
                continue
            seen.add(path)
            yield path, target
            todo.append((path, target))


def keras_of_tensorflow(tree: SourceTree) -> Record:
    """The modules of `tensorflow.keras`, for releases that take it from the package keras."""
    return {
        public + module.removeprefix(root): sorted(
            name for name in tree.names(module).origins if not name.startswith("_") or name.endswith("__")
        )
        for root, public in KERAS_OF_TENSORFLOW.items()
        for module in tree.modules
        if f"{module}.".startswith(f"{root}.")
    }


def tensorflow_record(minor: str, release: str) -> Record:
    record = recorded(tensorflow_sources(release), "tensorflow")
    if version_key(minor) > version_key(LAST_OWN):
        record |= keras_of_tensorflow(keras_sources(KERAS.get(minor, f"{minor}.0")))
    return record


def keras_record(minor: str, version: str) -> Record:
    return recorded(keras_sources(version), "keras")


def keras_minors() -> dict[str, str]:
    with urlopen(KERAS_INDEX) as answer:
        versions = [version for version in json.load(answer)["releases"] if FINAL.fullmatch(version)]
    newest = {".".join(version.split(".")[:2]): version for version in sorted(versions, key=version_key)}
    return {minor: version for minor, version in newest.items() if minor not in REDIRECTING}


def spans(records: dict[str, Record]) -> dict[str, object]:
    """The releases of each module, and its names by their releases, as first and last numbers."""
    numbers = list(records)
    modules = {}
    for module in sorted({module for record in records.values() for module in record}):
        having = [number for number, record in enumerate(records.values()) if module in record]
        by_span: dict[str, list[str]] = {}
        for name in sorted({name for record in records.values() for name in record.get(module, ())}):
            with_name = [n for n in having if name in records[numbers[n]][module]]
            by_span.setdefault(_runs(with_name), []).append(name)
        modules[module] = [_runs(having), {span: " ".join(names) for span, names in by_span.items()}]
    return {"releases": numbers, "modules": modules}


def _runs(numbers: list[int]) -> str:
    """Runs of numbers: "0-3,7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}-{last}" if first < last else f"{first}" for first, last in runs)


def read(package: str, minor: str, release: str, cache: Path | None) -> Record:
    kept = cache / f"{package}-{release}.json" if cache else None
    if kept and kept.exists():
        return json.loads(kept.read_text())
    record = {"tensorflow": tensorflow_record, "keras": keras_record}[package](minor, release)
    print(package, release, len(record), file=sys.stderr)
    if kept:
        kept.write_text(json.dumps(record))
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, help="folder for what was read of each release")
    cache = parser.parse_args().cache
    packages = {"tensorflow": minors(), "keras": keras_minors()}
    with ProcessPoolExecutor() as pool:
        reading = {
            package: {m: pool.submit(read, package, m, release, cache) for m, release in releases.items()}
            for package, releases in packages.items()
        }
        made = {
            package: spans({minor: future.result() for minor, future in records.items()})
            for package, records in reading.items()
        }
    content = json.dumps(made, separators=(",", ":"), sort_keys=True).encode()
    OUTPUT.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
