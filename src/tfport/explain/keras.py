"""Look up which releases have a class, an argument or an attribute of Keras that a message names."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import atlas
from tfport.atlas.python_names import presence
from tfport.atlas.release_spans import STOCK, on_x86
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.explain.lookup import Meaning, MessageMatch
from tfport.explain.messages import PossibleCause

LAYERS = Path(__file__).with_name("keras_layers.json")
NEWEST_KERAS_2 = "2.15"
KEYS = ("name", "layers", "config", "class_name", "build_input_shape", "input_layers", "module")
STANDALONE = "keras "
"""The prefix of versions of the package keras from before it was a part of TensorFlow."""
SAVED_KIND = "_tf_keras_"
"""The prefix of kinds of objects in a SavedModel: `_tf_keras_metric`."""
SHORT_NAMES = (
    "acc", "ACC", "bce", "BCE", "mse", "MSE", "mae", "MAE", "mape", "MAPE", "msle", "MSLE", "kld", "KLD",
    "logcosh", "huber_loss", "cosine_proximity",
)  # fmt: skip
"""Other names of losses and metrics."""
INPUT_LAYER = "InputLayer"
"""The only class that reports arguments without its name."""
ARGUMENT = re.compile(
    r"(?:\b(\w{1,100})\.)?__init__\(\) got an unexpected keyword argument '(\w{1,100})'"
    r"|Unrecognized keyword arguments(?: passed to (\w{1,100}))?:[ ',\[({a-z_]{0,20}[\[{]'(\w{1,100})'"
)
LAYER = re.compile(r"deserializing class '(\w{1,100})'|\"class_name\": \"(\w{1,100})\"")
FAMILIES = {"Sequential": "model", "Functional": "model", "Model": "model", "Adam": "optimizer",
            "SGD": "optimizer", "RMSprop": "optimizer"}  # fmt: skip
"""What an object is, by its class; all others are layers."""
INSTEAD = {
    "predict_classes": "`numpy.argmax(model.predict(x), axis=-1)`, or `(model.predict(x) > 0.5).astype(int)` "
    "for a single output",
    "predict_proba": "`model.predict(x)`",
    "fit_generator": "`model.fit(generator)`",
    "evaluate_generator": "`model.evaluate(generator)`",
    "predict_generator": "`model.predict(generator)`",
    "_make_predict_function": "nothing: TensorFlow 2 does not need the call; remove it",
    "_is_compiled": "`model.compiled` in later releases",
    "lr": "`learning_rate`",
    "output_names": "`model.export(FOLDER)` and convert the SavedModel, or tf_keras",
    "output_shape": "`layer.output.shape`",
    "input_shape": "`layer.input.shape`",
}
"""What to use in place of attributes that were removed."""
MODULES = {
    "tf_keras": ("the package tf_keras (Keras 2)", "pip install tf_keras, and load with its `load_model`"),
    "keras.src.engine": ("Keras 2.13 to 2.15", "load with tf_keras, or with TensorFlow 2.13 to 2.15"),
    "keras.engine": ("Keras up to 2.12", "load with TensorFlow up to 2.12"),
    "keras.saving.legacy": ("Keras 2.12", "load with TensorFlow 2.12"),
    "keras.src.models": ("Keras 3", "load with Keras 3 (TensorFlow 2.16 or later)"),
    "keras.src.ops": ("Keras 3", "load with Keras 3 (TensorFlow 2.16 or later)"),
    "tensorflow.python.keras": ("the Keras inside TensorFlow", "load with the TensorFlow that saved it"),
    "keras": ("Keras", "load with the Keras that wrote the file: `tfport inspect FILE` shows its version"),
}  # fmt: skip
"""Which Keras has a module, and what to do, by the beginning of its name; the first that matches counts."""
FUNCTION_MODULES = ("activations", "losses", "metrics", "initializers", "regularizers", "constraints")
OLD = "2.0"
"""A class that Keras has since then is not missing because of the release."""


@functools.cache
def _recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(LAYERS.read_text("utf-8"))
    return recorded


def is_class(name: str) -> bool:
    """Whether some Keras has a class of that name."""
    return name in _recorded()["keras"]


def class_releases(name: str) -> str:
    """The releases of TensorFlow whose Keras has a class; empty if none has."""
    return ", ".join(_span(first, last) for first, last in _recorded()["keras"].get(name, ()))


def unknown_object(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the class is one of Keras in other releases, one of a known package, or a custom one."""
    name = match.names.get("object", "")
    if not name:
        return Meaning(
            ways_out=[
                "import the package or program that defines the class before loading: it may register it"
            ]
        )
    if name in KEYS:
        return Meaning(
            [
                f"{name} is a key of a configuration, not a layer: a newer Keras wrote the file, whose form "
                "of Sequential models (since 2.2.3) this one does not read."
            ],
            ["load it with the Keras that wrote it (`tfport inspect FILE` shows its version), or upgrade"],
            replaces=True,
        )
    if name.startswith(SAVED_KIND):
        kind = name.removeprefix(SAVED_KIND)
        return Meaning(
            [f"The SavedModel contains a custom {kind}, which Keras cannot recreate without its class."],
            [
                "`load_model(PATH, custom_objects={…})` with its class, or `compile=False` for a metric",
                "`tf.saved_model.load(PATH)` and its signatures, which need no Python class",
            ],
            replaces=True,
        )
    if name in SHORT_NAMES:
        return Meaning(
            [
                f"{name} is the short name of a loss or metric of Keras itself, which this Keras does not "
                "find when it reads the file's training settings: another version wrote them."
            ],
            [
                "`load_model(PATH, compile=False)`, and compile the model in code if you train it",
                "load it with the Keras that wrote the file; save it with the full name, such as "
                "`keras.losses.MeanSquaredError()`",
            ],
            replaces=True,
        )
    if spans := _recorded()["keras"].get(name) or _function_spans(name):
        return Meaning(
            [f"Keras itself has {name}, in TensorFlow {', '.join(_span(*span) for span in spans)}."],
            causes=[*_other_release(name, spans), _other_keras(name), _same_name(name)],
        )
    packages = [package for package, names in _recorded()["packages"].items() if name in names]
    if packages:
        return Meaning([f"{name} is a class of {packages[0]}: import it and pass its class."])
    return Meaning(
        [f"No recorded Keras has a class {name}: it belongs to the program or package that saved the model."]
    )


def _function_spans(name: str) -> list[list[str]]:
    """The releases whose Keras has a loss, a metric or another function of that name."""
    places = (presence(f"tensorflow.keras.{module}", name) for module in FUNCTION_MODULES)
    return next(([list(span) for span in where.spans] for where in places if where and where.spans), [])


def _other_release(name: str, spans: list[list[str]]) -> list[PossibleCause]:
    """That the Keras lacks the class, unless every release of the last years has it."""
    first, last = spans[-1]
    if last != _newest():
        lacking, having = f"tensorflow>{last}", f"tensorflow<={last}"
    elif version_key(first) > version_key(OLD):
        lacking, having = f"tensorflow<{first}", f"tensorflow>={first}"
    else:
        return []
    return [
        PossibleCause(
            f"The file was saved with another release of Keras: the one that reads it has no {name}.",
            (lacking,),
            (having,),
            "`tfport inspect FILE` shows the version that wrote it; compare it with the installed one",
            tuple(_use(first, last)),
        )
    ]


def _other_keras(name: str) -> PossibleCause:
    return PossibleCause(
        f"{name} was saved by another Keras (`keras`, `tensorflow.keras` or `tf_keras`) than the one that "
        "loads it: each knows only its own classes.",
        check="compare the imports of both programs; `tfport inspect FILE` shows what wrote the file",
        ways_out=("load it with the Keras that wrote the file",),
    )


def _same_name(name: str) -> PossibleCause:
    return PossibleCause(
        f"{name} is another class with that name, from the program or package that saved the model.",
        (f"class {name}(", f"def {name}("),
        check=f"look for {name} in the program that saved the model",
        ways_out=(f'pass it: `load_model(PATH, custom_objects={{{{"{name}": {name}}}}})`',),
    )


def argument(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases of a layer accept the argument that this Keras rejects."""
    layer, name = _layer_and_argument(match)
    spans = _recorded()["arguments"].get(layer or "", {}).get(name or "")
    if not spans:
        return Meaning()
    return Meaning(
        [f"{layer} takes `{name}` in {_releases(spans, 'and')}."], [f"use {_releases(spans, 'or')}"]
    )


def constructor_argument(match: MessageMatch, target: Target | None) -> Meaning:
    """What is recorded if the function is a constructor of Keras, and nothing otherwise."""
    name = match.names["argument"]
    arguments = _recorded()["arguments"]
    owner = match.names.get("layer")
    owners = [owner] if owner else [layer for layer, known in arguments.items() if name in known]
    if INPUT_LAYER in owners:
        owners = [INPUT_LAYER]
    if len(owners) != 1 or name not in arguments.get(owners[0], {}):
        return Meaning()
    spans = arguments[owners[0]][name]
    return Meaning(
        [f"In Keras, {owners[0]} takes `{name}` in {_releases(spans, 'and')}."],
        [f"for Keras, use {_releases(spans, 'or')}"],
    )


def _layer_and_argument(match: MessageMatch) -> tuple[str | None, str | None]:
    """The layer and the argument in the wording or in the text that follows it."""
    layer, name = match.names.get("layer"), match.names.get("argument")
    if later := ARGUMENT.search(match.text):
        layer = layer or later[1] or later[3] or (INPUT_LAYER if later[4] else None)
        name = name or later[2] or later[4]
    if layer is None and (named := LAYER.search(match.text)):
        layer = named[1] or named[2]
    return layer or (INPUT_LAYER if name else None), name


def parent_module(match: MessageMatch, target: Target | None) -> Meaning:
    """Which Keras has the module, or that it is one of the program that saved the model."""
    module = match.names["module"]
    for beginning, (keras, way) in MODULES.items():
        if module == beginning or module.startswith(f"{beginning}."):
            return Meaning([f"It is a module of {keras}: that Keras wrote the file."], [way])
    return Meaning(
        [f"{module} is a module in the program or package that saved the model."],
        [
            f"install the package of {module}, or run where it can be imported",
            "pass the class: `load_model(PATH, custom_objects={…})`",
        ],
    )


def attribute(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which releases have an attribute of a class of Keras, and what replaces it; None for other classes."""
    owner, name = match.names["class"], match.names["attribute"]
    if owner not in _recorded()["keras"]:
        return None
    family = FAMILIES.get(owner, "layer")
    spans = _recorded()["attributes"][family].get(name, [])
    facts = [f"Some {family}s of Keras have `{name}` in {_releases(spans, 'and')}."] if spans else []
    instead = [f"use {INSTEAD[name]}"] if name in INSTEAD else []
    return Meaning(
        facts,
        [
            *instead,
            "use the TensorFlow that the code or package was written for, or a newer version of it",
            "do not mix `keras`, `tensorflow.keras` and `tf_keras`, whose objects have different attributes",
        ],
    )


def _releases(spans: list[list[str]], joint: str) -> str:
    """The versions of the package keras and of TensorFlow in spans, as a phrase."""
    standalone = [
        _span(first.removeprefix(STANDALONE), last.removeprefix(STANDALONE))
        for first, last in spans
        if first.startswith(STANDALONE)
    ]
    own = [_span(first, last) for first, last in spans if not first.startswith(STANDALONE)]
    if joint == "or":  # advice
        own = [
            f"{text.removeprefix('since ')} or later" if text.startswith("since") else text for text in own
        ]
    phrases = {"the package keras": standalone, "TensorFlow": own}
    return f" {joint} ".join(f"{name} {', '.join(texts)}" for name, texts in phrases.items() if texts)


def _use(first: str, last: str) -> list[str]:
    if last == _newest():
        return [f"load it with TensorFlow {first} or later"]
    keras_2 = ", or with tf_keras" if last == NEWEST_KERAS_2 else ""
    return [f"load it with TensorFlow {_span(first, last)}{keras_2}, and save it again in another format"]


def _span(first: str, last: str) -> str:
    if last == _newest():
        return f"since {first}"
    return first if first == last else f"{first} to {last}"


@functools.cache
def _newest() -> str:
    """The newest minor release: 2.21."""
    return ".".join(on_x86(atlas(), STOCK)[-1].version.split(".")[:2])
