"""What Keras would execute, import or open while it loads a file. Findings 91x.

`formats.keras` lists it; nothing is decoded or imported here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.check.findings.finding import finding
from tfport.formats.keras.records import KerasFile
from tfport.scan.risk import ERROR, RISK, WARNING, Risk

IGNORED = "tfport does not run, import or open it"


class KerasRisk(Risk):
    """Something in the configuration or the weights of a Keras file."""

    detail: str


@finding("TFP911", "keras-code", ERROR, noticed=RISK)
class KerasCode(KerasRisk):
    """{subject} is {detail}, which runs {moment}

    ## Cause
    A Lambda layer stores the bytecode of a Python function in the file. Keras 1 and 2 decode
    and run it while they load the model. Keras 3 refuses, unless `safe_mode=False` or
    `enable_unsafe_deserialization()` allows it.
    ## Fix
    Load it only if you trust whoever made it. Replace the Lambda by a layer of Keras, or by a
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
    Keras 3 imports the module that a configuration names, and takes the class or function from
    it. Importing a module runs its code; calling a function of another package may do anything.
    ## Fix
    Load it only where the module is yours, or with a release of Keras that refuses modules
    other than its own.
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
    The function does more than compute: it opens files, downloads, or turns off the checks of
    Keras. A layer that computes has no reason to name it.
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
    The configuration or the HDF5 file refers to a file outside of the model. What Keras reads
    there becomes part of the model: a vocabulary, a weight, another model.
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
    Keras unpacks an archive by the names in it. A name with `..` or a leading slash leads to
    another folder.
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
    Do not load the file, or bound the memory of the process.
    """


CLASSES: dict[str, type[KerasRisk]] = {
    "lambda": KerasCode, "pickle": KerasPickle, "module": KerasImport, "function": KerasFunction,
    "path": KerasOtherFile, "link": KerasOtherFile, "name": KerasPath, "size": KerasSize,
}  # fmt: skip
"""The finding for each kind of unsafe content."""


def keras_risks(file: KerasFile) -> Iterator[Risk]:
    for unsafe in file.unsafe:
        subject = f"`{unsafe.where}`" if unsafe.where else "the file"
        yield CLASSES[unsafe.kind](subject=subject, detail=unsafe.detail, own_runtime=IGNORED)
