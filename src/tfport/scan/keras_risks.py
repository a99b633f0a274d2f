"""What Keras would execute, import or open while it loads a file. Findings 91x.

`formats.keras` lists it. Code is shown by its names and constants; nothing is decompiled, run or
imported. `keras_advisories.toml` has the published vulnerabilities that such content makes use of.
"""

from __future__ import annotations

import functools
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tfport.check.findings.finding import finding
from tfport.errors import Error
from tfport.formats.encoding.marshalled_code import code_bytes, read_code
from tfport.formats.keras.records import Json, KerasFile, UnsafeContent
from tfport.formats.keras.unsafe import REPEATED, unsafe_config
from tfport.scan.risk import ERROR, NOTE, RISK, WARNING, Risk

IGNORED = "tfport does not run, import or open it"


class KerasRisk(Risk):
    """Something in the configuration or the weights of a Keras file."""

    detail: str


@finding("TFP911", "keras-code", ERROR, noticed=RISK)
class KerasCode(KerasRisk):
    """{subject} is {detail}, which runs {moment}

    ## Cause
    A Lambda layer stores the bytecode of a Python function in the file. Keras 1 and 2 decode and
    run it while they load the model. Keras 3 refuses, unless `safe_mode=False` or
    `enable_unsafe_deserialization()` allows it.
    ## Fix
    Load it only if you trust whoever made it. Replace the Lambda with a Keras layer, or with a
    class of your own.
    ## Example
        echo '{"class_name": "Sequential", "config": {"layers": [
        {"class_name": "Lambda", "config": {"name": "l", "function": ["4wEA"]}}
        ]}}' > model.json
        tfport scan model.json
    """


@finding("TFP912", "keras-pickle", ERROR, noticed=RISK)
class KerasPickle(KerasRisk):
    """{subject} is {detail}, which runs {moment}

    ## Cause
    Reading a Python pickle calls any function that it names, with any arguments.
    ## Fix
    Load it only if you trust whoever made it.
    ## Example
        echo '{"class_name": "Sequential", "config": {"layers": [
        {"class_name": "TorchModuleWrapper", "config": {"module": "gASV"}}
        ]}}' > model.json
        tfport scan model.json
    """


@finding("TFP913", "keras-import", WARNING, noticed=RISK)
class KerasImport(KerasRisk):
    """{subject} names {detail}, which Keras imports {moment}

    ## Cause
    Keras 3 imports the module that a configuration names, and takes the class or function from it.
    Importing a module runs its code; calling another package's function may do anything.
    ## Fix
    Load it only if the module is yours, or with a Keras release that refuses modules other than its
    own.
    ## Example
        echo '{"class_name": "Sequential", "config": {"layers": [
        {"class_name": "F", "module": "os.path", "config": {}}
        ]}}' > model.json
        tfport scan model.json
    """


@finding("TFP914", "keras-function", ERROR, noticed=RISK)
class KerasFunction(KerasRisk):
    """{subject} names {detail}, which runs {moment}

    ## Cause
    The function does more than compute: it opens files, downloads, or turns off Keras's checks. A
    layer that computes has no reason to name it.
    ## Fix
    Do not load the file.
    ## Example
        echo '{"class_name": "Sequential", "config": {"layers": [
        {"class_name": "function", "module": "builtins", "config": "exec"}
        ]}}' > model.json
        tfport scan model.json
    """


@finding("TFP915", "keras-other-file", WARNING, noticed=RISK)
class KerasOtherFile(KerasRisk):
    """{subject} names {detail}, which Keras opens {moment}

    ## Cause
    The configuration or the HDF5 file refers to a file outside of the model. What Keras reads there
    becomes part of the model: a vocabulary, a weight, another model.
    ## Fix
    Save the model with the content inside, or load it where the file cannot be read.
    ## Example
        echo '{"class_name": "Sequential", "config": {"layers": [
        {"class_name": "TFSMLayer", "config": {"filepath": "/srv/model"}}
        ]}}' > model.json
        tfport scan model.json
    """


@finding("TFP916", "keras-path", ERROR, noticed=RISK)
class KerasPath(KerasRisk):
    """{subject} has {detail}, which Keras writes outside of its folder {moment}

    ## Cause
    Keras unpacks an archive's members to the paths that their names state. A name with `..` or a
    leading slash points outside the folder.
    ## Fix
    Do not load the file.
    ## Example
        echo '{"class_name": "Sequential", "config": {"layers": [
        {"class_name": "Dense", "config": {"name": "../x"}}
        ]}}' > model.json
        tfport scan model.json
    """


@finding("TFP917", "keras-size", WARNING, noticed=RISK)
class KerasSize(KerasRisk):
    """{subject} is {detail}, which fills the memory {moment}

    ## Cause
    The file declares far more than it holds: it is small to send and too large to load.
    ## Fix
    Do not load the file, or limit the process's memory.
    ## Example
        tfport scan tests/scan/files/large_shape.weights.h5
    """


@finding("TFP918", "keras-custom-class", NOTE, noticed=RISK)
class KerasCustomClass(KerasRisk):
    """{subject} needs {detail}, which the file does not contain

    ## Cause
    The class or function is not part of Keras. The program that loads the model must register it or
    pass it in `custom_objects`; its code does not come with the file, so nothing of it runs by
    itself.
    ## Fix
    Use the code only if you trust its source.
    ## Example
        echo '{"class_name": "Sequential", "config": {"layers": [
        {"class_name": "Custom>Mine", "config": {"name": "l"}}
        ]}}' > model.json
        tfport scan model.json
    """


CLASSES: dict[str, type[KerasRisk]] = {
    "lambda": KerasCode, "pickle": KerasPickle, "module": KerasImport, "function": KerasFunction,
    "path": KerasOtherFile, "link": KerasOtherFile, "name": KerasPath, "size": KerasSize,
}  # fmt: skip
"""The finding for each kind of unsafe content."""
ADVISORIES = Path(__file__).with_name("keras_advisories.toml")
NAMED = re.compile(r"`([\w.]+)`")
SOFT_LINK = "a soft link"
MOST_CUSTOM = 20
MODEL_CLASSES = ("", "Functional", "Model", "Sequential", "Graph")
CUSTOM = re.compile(r">|^(?!(tf_)?keras\.|tensorflow\.|tf\.)[\w.]+\.\w+$")
"""A registered name with its package."""


def keras_risks(file: KerasFile) -> Iterator[Risk]:
    """What Keras would do with a file."""
    unsafe = [*file.unsafe, *unsafe_config(file.training)]
    yield from content_risks(unsafe, file.layout)
    yield from _custom_classes(file)


def content_risks(unsafe: Iterable[UnsafeContent], layout: str) -> Iterator[Risk]:
    """The findings for what a file of a layout contains."""
    for content in dict.fromkeys(unsafe):
        if content.kind != "name" or content.detail != REPEATED:  # which the archive reports
            level, why = _judged(content)
            advisories = "; ".join(_advisories(content, layout))
            yield CLASSES[content.kind](
                subject=f"`{content.where}`" if content.where else "the file",
                detail=content.detail,
                level=level,
                why="; ".join(filter(None, (why, advisories))),
                own_runtime=IGNORED,
            )


def hdf5_risks(data: memoryview, where: str, layout: str) -> Iterator[Risk]:
    """What an HDF5 file refers to elsewhere, also in groups that have no weights of Keras."""
    from tfport.formats.hdf5.file import open_hdf5  # imported here, as it needs NumPy
    from tfport.formats.hdf5.references import references

    try:
        content = [UnsafeContent("link", path, what) for path, what in references(open_hdf5(data, where))]
    except Error:
        return  # what loads the file reports it
    yield from content_risks(content, layout)


def _judged(content: UnsafeContent) -> tuple[str, str]:
    """The severity in this file, and the reason for it."""
    if content.kind == "lambda" and content.code:
        return "", read_code(code_bytes(content.code)).describe()
    if content.kind == "link" and content.detail.startswith(SOFT_LINK):
        return NOTE, "the link stays in the file"
    named = NAMED.search(content.detail)
    if content.kind == "module" and named:
        package, name = named[1].partition(".")[0], named[1].rpartition(".")[2]
        if package in sys.stdlib_module_names:
            return ERROR, f"`{package}` is part of Python, and has no layers"
        if name[:1].isupper():
            return NOTE, "a class of another package, whose code does not come with the file"
    return "", ""


def _advisories(content: UnsafeContent, layout: str) -> Iterator[str]:
    """The published vulnerabilities that the content makes use of."""
    for row in _known_advisories():
        names = row.get("names", ())
        fits = not names or any(name in content.detail for name in names)
        if fits and content.kind == row["kind"] and layout in row["layouts"]:
            yield f"{row['id']}, fixed in Keras {' and '.join(row['fixed'])}"


@functools.cache
def _known_advisories() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads(ADVISORIES.read_text("utf-8"))["advisory"]
    return rows


def _custom_classes(file: KerasFile) -> Iterator[Risk]:
    """Classes that somebody must register: `Custom>Scale`, or the class of the model itself."""
    names: dict[str, None] = {}
    top = file.config or {}
    if isinstance(name := top.get("class_name"), str) and name not in MODEL_CLASSES and not top.get("module"):
        names[name] = None
    pending: list[Json] = [top, file.training]
    for value in pending:  # grows during the loop
        if isinstance(value, Mapping):
            declared = (value.get("registered_name"), value.get("class_name"))
            names.update(dict.fromkeys(n for n in declared if isinstance(n, str) and CUSTOM.search(n)))
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    for name in list(names)[:MOST_CUSTOM]:
        detail = f"the custom class `{name[:200]}`"
        yield KerasCustomClass(subject="the model", detail=detail, own_runtime=IGNORED)
