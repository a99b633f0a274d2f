"""Record in which releases Keras has which layers, initializers, losses and so on, for `tfport explain`.

    python tools/atlas/keras_layers.py

reads the source of Keras in the wheels of TensorFlow (up to 2.5) and of the keras package that
each later release requires, without importing it, and writes
`src/tfport/check/explain/keras_layers.json`: spans of releases by class, and the classes of
packages that are often used with Keras.
"""

import ast
import json
import re
import sys
import tempfile
import zipfile
from pathlib import Path

from addon_wheels import fetch
from package_index import choose, releases
from remote_zip import open_zip

from tfport.atlas.versions import version_key

OUTPUT = Path("src/tfport/check/explain/keras_layers.json")
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
IN_KERAS = re.compile(rf"keras/(src/)?({PARTS})(/(\w+/)*(?!.*_test)\w+)?\.py$")
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


def classes(archive: zipfile.ZipFile, files: re.Pattern[str]) -> set[str]:
    """The public classes, and functions of some kinds, in the files of a wheel."""
    names: set[str] = set()
    for member in archive.namelist():
        if files.search(member):
            tree = ast.parse(archive.read(member))
            kinds = (ast.ClassDef, ast.FunctionDef) if WITH_FUNCTIONS.search(member) else ast.ClassDef
            names |= {node.name for node in tree.body if isinstance(node, kinds)}
    return {name for name in names if not name.startswith("_")}


def minors() -> dict[str, str]:
    """The last patch of each minor release of TensorFlow."""
    final = [release for release in releases("tensorflow") if re.fullmatch(r"[\d.]+", release)]
    return {".".join(release.split(".")[:2]): release for release in sorted(final, key=version_key)}


def classes_of(minor: str, release: str) -> set[str]:
    if version_key(minor) <= version_key(LAST_OWN):
        return classes(open_zip(choose("tensorflow", release).url), IN_TENSORFLOW)
    return classes_of_package("keras", KERAS.get(minor, f"{minor}.0"), IN_KERAS)


def classes_of_package(package: str, version: str, files: re.Pattern[str]) -> set[str]:
    with tempfile.TemporaryDirectory() as folder:
        return classes(zipfile.ZipFile(fetch(package, version, Path(folder))), files)


def main() -> None:
    by_minor = {}
    for minor, release in minors().items():
        by_minor[minor] = classes_of(minor, release)
        print(minor, len(by_minor[minor]), file=sys.stderr)
    names = sorted(set().union(*by_minor.values()))
    spans = {name: _spans(name, by_minor) for name in names}
    providers = {
        package: sorted(classes_of_package(package, version, files))
        for package, (version, files) in PROVIDERS.items()
    }
    OUTPUT.write_text(json.dumps({"keras": spans, "packages": providers}, separators=(",", ":")) + "\n")


def _spans(name: str, by_minor: dict[str, set[str]]) -> list[list[str]]:
    """The first and last minor release of each run of releases with a class."""
    rows: list[list[str]] = []
    before = False
    for minor, known in by_minor.items():
        if name in known:
            rows[-1:] = [[rows[-1][0], minor]] if before else [*rows[-1:], [minor, minor]]
        before = name in known
    return rows


if __name__ == "__main__":
    main()
