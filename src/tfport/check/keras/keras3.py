"""The loader of Keras 3: `.keras` archives, and HDF5 files of any version."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from tfport.atlas.keras_releases import KERAS_CORE, KerasObject, KerasRelease
from tfport.check.findings.keras_files import (
    KerasConfigForm,
    KerasFileFormat,
    KerasLambda,
    KerasWeightsMismatch,
    UnknownKerasClass,
)
from tfport.check.keras.generation import unsupported_format
from tfport.check.keras.keras3_calls import call_problems, end_problems
from tfport.check.keras.keras3_objects import Keras3Objects
from tfport.check.keras.raised import TYPE_ERROR, VALUE_ERROR, Raised, wrap
from tfport.check.keras.stored_objects import copied, decoded
from tfport.formats.keras.records import Json, KerasFile

H5_ENDINGS = (".h5", ".hdf5")


def load_with_keras_3(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`."""
    layers = Keras3Layers(release)
    if file.layout == "keras":
        return layers.deserialize({**copied(file.config), "compile_config": None})
    if file.layout == "json":
        return layers.deserialize(copied(file.config))
    if refusal := _refused(file, layers):
        return [refusal]
    config = decoded(file.config)
    layers.reads_hdf5 = True
    return layers.legacy(_renamed(config) if release.package == KERAS_CORE else config)


def _renamed(value: Json) -> Json:
    """The configuration with the modules of Keras as those of keras-core, whose loader renames them."""
    if isinstance(value, str):
        return value.replace("keras.", "keras_core.")
    if isinstance(value, list | tuple):
        return type(value)(map(_renamed, value))
    return {key: _renamed(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _refused(file: KerasFile, layers: Keras3Layers) -> Raised | None:
    """The error for a file that the loader does not read at all."""
    name = posixpath.basename(file.where)
    if file.layout == "weights" or file.config is None:
        text = f"No model config found in the file at {file.where}."
        return Raised(VALUE_ERROR, text, KerasFileFormat(what="weights without an architecture"))
    if file.layout != "h5" or name.endswith(H5_ENDINGS):
        return None
    if name.endswith(".keras"):
        text = (
            f"File not found: filepath={file.where}. Please ensure the file is an accessible `.keras` zip "
            "file."
        )
        return Raised(
            VALUE_ERROR, text, KerasFileFormat(what="an HDF5 file under a name that ends in .keras")
        )
    text = unsupported_format(file.where, layers.release)
    return Raised(VALUE_ERROR, text, KerasFileFormat(what="an HDF5 file under a name without .h5"))


# Layers and models from their configurations.

MODELS = ("Functional", "Model")
BIDIRECTIONAL, DOT = "Bidirectional", "Dot"
FUNCTIONAL_KEYS = ("name", "layers", "input_layers", "output_layers")
UNWRAPPED = ("LSTM", "GRU", "SimpleRNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
"""Layers whose `from_config` calls the constructor and nothing else."""
FUNCTIONS = ("add", "average", "concatenate", "dot", "maximum", "minimum", "multiply", "subtract")
"""Functions of `keras.layers`; since 3.14 the HDF5 loader puts them in place of words in a configuration."""
QUANTIZED = ("Dense", "EinsumDense", "Embedding")
"""Layers whose `from_config` adds `quantization_config` since 3.13."""
LAMBDA_ARGUMENTS = ("module", "function_type", "output_shape_type", "output_shape_module")
"""What Keras 2 stored about a Lambda, and Keras 3 removes."""


class Keras3Layers(Keras3Objects):
    """The layers and models of one release of Keras 3."""

    def built(self, known: KerasObject, config: Mapping[str, Json], layer: str) -> list[Raised]:
        """Up to 3.1 Dot does not take its shapes as lists, which files have."""
        shapes = _stored_shape(config)
        if known.name != DOT or self.since("3.2") or not shapes:
            return []
        text = f"A `Dot` layer should be called on a list of 2 inputs. Received: input_shape={shapes}"
        what = "the shapes of its inputs as lists, where this release takes tuples only"
        finding = KerasConfigForm(layer=layer, class_name=DOT, op=DOT, attr="build_config", what=what)
        return [Raised(VALUE_ERROR, text, finding)]

    def from_config(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        if known.kind != "layer" or not isinstance(config, dict):
            return self.construct(known, config, layer)
        name = str(config.get("name") or layer)
        special = self._special().get(known.name)
        if special is not None:
            return special(known, config, name)
        if known.name in UNWRAPPED:
            return self.construct(known, config, name)
        if "layer" in config and "layer" in known.arguments:
            return self._wrapper(known, config, name)
        return self._operation(known, config, name)

    def _special(self) -> dict[str, Callable[[KerasObject, dict[str, Json], str], list[Raised]]]:
        return {
            "Sequential": self._sequential,
            "Functional": self._model,
            "Model": self._model,
            BIDIRECTIONAL: self._bidirectional,
            "RNN": self._rnn,
            "StackedRNNCells": self._stacked,
            "Lambda": self._lambda_layer,
        }

    def _operation(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        """`Operation.from_config`: the policy, then the constructor, whose errors it wraps."""
        problems: list[Raised] = []
        if known.name in QUANTIZED and self.since("3.13"):
            config = {**config, "quantization_config": config.get("quantization_config")}
        dtype = config.get("dtype")
        if isinstance(dtype, dict) and self.release.package != KERAS_CORE:
            problems = self.policy(dtype, name)
            if self.since("3.4"):
                config = {**config, "dtype": (dtype.get("config") or {}).get("name")}
        raised = wrap(
            self.construct(known, config, name),
            TYPE_ERROR,
            lambda text: (
                f"Error when deserializing class '{known.name}' using config={config}.\n\n"
                f"Exception encountered: {text}"
            ),
        )
        return [*problems, *raised]

    def _wrapper(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        inner = self.deserialize(config.pop("layer"), name)
        return [*inner, *self.construct(known, {**config, "layer": None}, name)]

    def _bidirectional(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        inner = self.deserialize(config.get("layer"), name)
        backward = self.deserialize(config.get("backward_layer"), name)
        third = [] if self.since("3.3") else _third_layer(config.get("layer"), name)
        return [*inner, *backward, *self.construct(known, config, name), *third]

    def _rnn(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        inner = self.deserialize(config.pop("cell", None), name)
        return [*inner, *self.construct(known, {**config, "cell": None}, name)]

    def _stacked(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        inner = self.deserialize(config.pop("cells", []), name)
        return [*inner, *self.construct(known, {**config, "cells": None}, name)]

    def _lambda_layer(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        problems: list[Raised] = []
        for argument in ("function", "output_shape"):
            value = config.get(argument)
            if isinstance(value, dict) and value.get("class_name") == "__lambda__":
                problems += self.bytecode(name)
            else:
                problems += self.deserialize(value, name)
        return [*problems, *self.construct(known, config, name)]

    def bytecode(self, layer: str) -> list[Raised]:
        """The refusal of a Lambda's bytecode; none where the loader runs it."""
        if self.runs_bytecode:
            return []
        text = (
            "Requested the deserialization of a `Lambda` layer whose `function` is a Python lambda. "
            "This carries a "
            "potential risk of arbitrary code execution and thus it is disallowed by default. If you "
            "trust the "
            "source of the artifact, you can override this error by passing `safe_mode=False` to the loading "
            "function, or calling `keras.config.enable_unsafe_deserialization()."
        )
        if not self.since("3.11.3"):
            argument = "function" if self.since("3.10") else "{arg_name}"  # the text lacks an f before 3.10
            text = (
                f"The `{argument}` of this `Lambda` layer is a Python lambda. Deserializing it is "
                "unsafe. If you "
                "trust the source of the config artifact, you can override this error by passing "
                "`safe_mode=False` to `from_config()`, or calling "
                "`keras.config.enable_unsafe_deserialization()."
            )
        return [Raised(VALUE_ERROR, text, KerasLambda(layer=layer))]

    def _sequential(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        if "name" not in config and self.since("3.15"):
            text = (
                "A Sequential model configuration must be a dictionary containing the 'name' and "
                "'layers' keys. "
                f"Received: config={config}"
            )
            return [Raised(VALUE_ERROR, text, KerasConfigForm(what="a Sequential model without a name"))]
        return self.layers(config.get("layers"))

    def _model(self, known: KerasObject, config: dict[str, Json], name: str) -> list[Raised]:
        if not all(key in config for key in FUNCTIONAL_KEYS):
            text = f"{python_name(known)} has no stored layers"
            return [Raised(TYPE_ERROR, text, KerasConfigForm(layer=name, what="a model without layers"))]
        stored = config["layers"]
        ends = [*end_problems(self, config["input_layers"]), *end_problems(self, config["output_layers"])]
        if self.since("3.7"):
            for key in ("layers", "input_layers", "output_layers", "name", "trainable"):
                config.pop(key, None)
        return [*self.layers(stored), *call_problems(self, stored), *ends]

    def layers(self, stored: Json) -> list[Raised]:
        """The errors of all layers of a model, in order."""
        problems: list[Raised] = []
        for config in stored if isinstance(stored, list) else ():
            if not isinstance(config, dict):
                continue
            problems += self.deserialize(config) if "module" in config else self.legacy(config)
        return problems

    def legacy(self, config: dict[str, Json]) -> list[Raised]:
        """The errors of `model_from_config`, which reads configurations without modules."""
        inner = config.get("config")
        name = config.get("class_name")
        if isinstance(inner, list):
            text = "pop expected at most 1 argument, got 2"
            return [Raised(TYPE_ERROR, text, KerasConfigForm(what="a Sequential model as a list of layers"))]
        if not isinstance(inner, dict) or not isinstance(name, str):
            text = (
                "The provided configuration is not a valid Keras configuration. Expected a dictionary "
                "containing "
                f"a 'config' key. Received: config={config}"
            )
            return [Raised(VALUE_ERROR, text, KerasConfigForm(what="an object without a configuration"))]
        self.adapt(name, inner)
        if "score_mode" in inner and inner["score_mode"] in FUNCTIONS and self.since("3.14"):
            return [self._replaced(name, inner)]
        known = self.release.find("layer", name)
        if known is None or (known.exports and not known.module.startswith(self.namespace)):
            text = (
                f"Unknown layer: '{name}'. Please ensure you are using a "
                "`keras.utils.custom_object_scope` and "
                "that this object is included in the scope. See "
                "https://www.tensorflow.org/guide/keras/save_and_serialize#registering_the_custom_object for "
                "details."
            )
            layer = str(inner.get("name") or config.get("name") or "")
            return [Raised(VALUE_ERROR, text, UnknownKerasClass(layer=layer, class_name=name, op=name))]
        return self.from_config(known, inner, str(inner.get("name") or config.get("name") or ""))

    def _replaced(self, name: str, inner: dict[str, Json]) -> Raised:
        """The error for a word that the loader replaces by the function of layers of that name."""
        word = inner["score_mode"]
        shown = {**inner, "score_mode": _Shown(f"<function {word} at 0x…>")}
        if isinstance(policy := inner.get("dtype"), dict):
            shown["dtype"] = (policy.get("config") or {}).get("name")
        text = (
            f"Error when deserializing class '{name}' using config={shown}.\n\nException encountered: "
            "Invalid value "
            "for argument score_mode. Expected one of {'dot', 'concat'}. Received: "
            f"score_mode={shown['score_mode']}"
        )
        what = f"it reads the word `{word}` as the function `keras.layers.{word}`"
        layer = str(inner.get("name") or "")
        finding = KerasConfigForm(layer=layer, class_name=name, op=name, attr="score_mode", what=what)
        return Raised(TYPE_ERROR, text, finding)

    @property
    def namespace(self) -> tuple[str, ...]:
        """The modules whose layers the HDF5 loader knows."""
        return tuple(f"{self.public}.{part}" for part in ("src.layers", "src.models", "layers", "models"))

    def adapt(self, name: str, inner: dict[str, Json]) -> None:
        """Change a configuration as the HDF5 loader does, for better or worse."""
        shape = inner.pop("batch_input_shape", None)
        if shape is not None:
            inner["batch_shape" if name == "InputLayer" else "input_shape"] = shape
        axis = inner.pop("axis", None)
        if isinstance(axis, list) and len(axis) == 1:
            inner["axis"] = int(axis[0])
        elif isinstance(axis, int | float) and self.since("3.9"):
            inner["axis"] = int(axis)
        if name == "Lambda":
            for argument in LAMBDA_ARGUMENTS:
                inner.pop(argument, None)
            function = inner.get("function")
            if isinstance(function, list) and len(function) == 3:
                code, defaults, closure = function
                inner["function"] = {
                    "class_name": "__lambda__",
                    "config": {"code": code, "defaults": defaults, "closure": closure},
                }


class _Shown(str):
    """A text that is printed without quotes inside a configuration."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _third_layer(layer: Json, name: str) -> list[Raised]:
    """The error of Bidirectional up to 3.2, which keeps the stored layer beside its two copies.

    If the stored layer is built, weights are expected for it, and no release stores them.
    """
    if not isinstance(layer, dict) or not _stored_shape(layer):
        return []
    cell = f"{str(layer.get('class_name')).lower()}_cell"
    text = (
        "A total of 1 objects could not be loaded. Example error message for object "
        f"<{layer.get('class_name')}Cell name={cell}, built=True>:\n\n"
        f"Layer '{cell}' expected 3 variables, but received 0 variables during loading. "
        "Expected: ['kernel', 'recurrent_kernel', 'bias']"
    )
    what = "it expects weights for a third copy of the layer inside, which the file does not have"
    return [Raised(VALUE_ERROR, text, KerasWeightsMismatch(layer=name, class_name=BIDIRECTIONAL, what=what))]


def _stored_shape(config: Mapping[str, Json]) -> Json:
    """The shape that a layer is built with when it is created."""
    build = config.get("build_config")
    return build.get("input_shape") if isinstance(build, dict) else None


def python_name(known: KerasObject) -> str:
    """The full name of a class."""
    return f"{known.module}.{known.name}"
