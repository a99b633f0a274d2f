"""How Keras 2 finds and creates the objects of a configuration (`deserialize_keras_object`).

This is the Keras inside TensorFlow, the package keras from 2.0 to 2.15, and tf-keras. Their HDF5 loaders
look names up in tables of classes, and call `from_config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.atlas.keras_releases import CHECKED, IGNORED, KerasObject, KerasRelease
from tfport.atlas.versions import version_key
from tfport.check.findings.keras_files import (
    KerasConfigForm,
    KerasFileFinding,
    MissingKerasArgument,
    UnknownKerasArgument,
    UnknownKerasClass,
    UnknownKerasObject,
)
from tfport.check.keras.generation import is_standalone
from tfport.check.keras.keras3_objects import missing_text
from tfport.check.keras.raised import TYPE_ERROR, VALUE_ERROR, Raised
from tfport.check.keras.stored_objects import stored_objects
from tfport.formats.keras.records import Json

GUIDE = (
    "See https://www.tensorflow.org/guide/keras/save_and_serialize#registering_the_custom_object for details."
)
PRINTED = {"activation": "activation function", "policy": "dtype policy"}
"""How messages call a kind, where that is another word."""
CELLS_FIRST = ("LSTM", "GRU", "SimpleRNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "CuDNNLSTM", "CuDNNGRU")
"""Layers that create their cell before they look at other arguments."""

OF_TENSORFLOW = ("log_softmax", "relu6")
"""Functions of TensorFlow that the module of activations has as its own."""


class Keras2Objects:
    """The objects of one release of Keras 2."""

    def __init__(self, release: KerasRelease) -> None:
        self.release = release
        self.is_standalone = is_standalone(release)
        self._key = version_key(release.version)

    def since(self, tensorflow: str, standalone: str = "9") -> bool:
        """Whether the release is of this TensorFlow or later; `standalone`: of this keras before 2.4."""
        return self._key >= version_key(standalone if self.is_standalone else tensorflow)

    def unknown(self, kind: str, name: str, layer: str, *, by_name: bool = False) -> Raised:
        """The error for a name that no table has; `by_name`: the configuration is only the name."""
        printed = PRINTED.get(kind, kind)
        space = "" if by_name and not self.since("2.3") else " "
        text = f"Unknown {printed}:{space}{name}"
        if self.since("2.11"):
            text = (
                f"Unknown {printed}: '{name}'. Please ensure you are using a "
                "`keras.utils.custom_object_scope` and "
                f"that this object is included in the scope. {GUIDE}"
            )
        elif self.since("2.5"):
            text += f". Please ensure this object is passed to the `custom_objects` argument. {GUIDE}"
        finding: KerasFileFinding = UnknownKerasClass(layer=layer, class_name=name, op=name)
        if kind != "layer":
            finding = UnknownKerasObject(layer=layer, kind=printed, object_name=name)
        return Raised(VALUE_ERROR, text, finding)

    def get(self, kind: str, value: Json, layer: str) -> list[Raised]:
        """The errors of `initializers.get`, `activations.get` and so on."""
        if isinstance(value, str):
            if self.release.find(kind, value) or (kind == "activation" and self._is_other_activation(value)):
                return []
            dictionary = kind == "initializer" and not self.since("1.14")
            return [self.unknown(kind, value, layer, by_name=not dictionary)]
        if not isinstance(value, dict):
            return []
        if "class_name" not in value or "config" not in value:
            return [self._improper(value, layer)]
        name = str(value["class_name"])
        if name == "function":
            name = str(value.get("config"))
        known = self.release.find(kind, name)
        if known is None:
            return (
                []
                if kind == "activation" and self._is_other_activation(name)
                else [self.unknown(kind, name, layer)]
            )
        config = value["config"]
        if known.is_function or not isinstance(config, dict):
            return []
        if kind == "initializer" and (self.is_standalone or self.since("2.0")):
            config = {key: inner for key, inner in config.items() if key != "dtype"}
        return self.arguments(known, config, layer)

    def _is_other_activation(self, name: str) -> bool:
        """Whether a layer, or a function of TensorFlow, can be named as an activation."""
        if name in OF_TENSORFLOW:
            return self.since("2.6")
        return self.since("2.5") and self.release.find("layer", name) is not None

    def _improper(self, value: Json, layer: str) -> Raised:
        text = f"Improper config format: {value}"
        if self.since("2.7"):
            text = (
                f"Improper config format for {value}. Expecting python dict contains `class_name` and "
                "`config` as "
                "keys"
            )
        return Raised(VALUE_ERROR, text, KerasConfigForm(layer=layer, what="an object without a class"))

    def policy(self, value: Json, layer: str) -> list[Raised]:
        """The errors of a stored dtype policy."""
        if not isinstance(value, dict):
            return []
        name = str(value.get("class_name"))
        if not self.since("2.1", "9"):  # only a name is a policy there
            text = "unhashable type: 'dict'"
            finding = UnknownKerasObject(layer=layer, kind="dtype policy", object_name=name)
            return [Raised(TYPE_ERROR, text, finding)]
        return [] if self.release.find("policy", name) else [self.unknown("policy", name, layer)]

    def construct(self, known: KerasObject, config: Json, layer: str) -> list[Raised]:
        """The errors of `cls(**config)`."""
        if not isinstance(config, dict):
            return []
        arguments = self.arguments(known, config, layer)
        nested = [r for _, kind, value in stored_objects(config) for r in self.get(kind, value, layer)]
        first = known.name in CELLS_FIRST
        policy = self.policy(config.get("dtype"), layer)
        return [*nested, *arguments, *policy] if first else [*arguments, *policy, *nested]

    def arguments(self, known: KerasObject, config: Mapping[str, Any], layer: str) -> list[Raised]:
        """The errors for arguments that are missing or unknown."""
        names = {name: known.earlier.get(name, name) for name in config}
        present = {names[name]: value for name, value in config.items() if names[name]}
        if known.name == "BatchNormalization" and "mode" in known.earlier and config.get("mode"):
            return [self._mode(known, layer)]
        missing = [name for name in known.required if name not in present]
        unknown = [name for name in present if name not in known.arguments]
        if missing and known.kind == "layer":
            text = self.by_python(missing_text(known, missing), known.name)
            return [
                Raised(
                    TYPE_ERROR,
                    text,
                    MissingKerasArgument(
                        layer=layer, class_name=known.name, op=known.name, attr=name, argument=name
                    ),
                )
                for name in missing
            ]
        if not unknown or known.rest == IGNORED:
            return []
        error, texts = self._unknown_texts(known, unknown)
        return [
            Raised(
                error,
                text,
                UnknownKerasArgument(
                    layer=layer, class_name=known.name, op=known.name, attr=name, argument=name
                ),
            )
            for name, text in zip(unknown, texts, strict=True)
        ]

    def _mode(self, known: KerasObject, layer: str) -> Raised:
        """The error for a kind of batch normalization that only Keras 1 has."""
        text = (
            "The `mode` argument of `BatchNormalization` no longer exists. `mode=1` and `mode=2` are no "
            "longer supported."
        )
        finding = UnknownKerasArgument(
            layer=layer, class_name=known.name, op=known.name, attr="mode", argument="mode"
        )
        return Raised(TYPE_ERROR, text, finding)

    def _unknown_texts(self, known: KerasObject, unknown: list[str]) -> tuple[str, list[str]]:
        if known.rest != CHECKED:
            if not known.last:
                return TYPE_ERROR, [f"{known.name}() takes no arguments"] * len(unknown)
            texts = [
                f"{known.last}.__init__() got an unexpected keyword argument '{name}'" for name in unknown
            ]
            return TYPE_ERROR, [self.by_python(text, known.last) for text in texts]
        if known.last == "InputLayer":
            text = f"('Unrecognized keyword arguments:', dict_keys({unknown}))"
            if self.since("2.8"):
                text = f"Unrecognized keyword arguments: {unknown}"
            return VALUE_ERROR, [text] * len(unknown)
        return TYPE_ERROR, [f"('Keyword argument not understood:', '{name}')" for name in unknown]

    def by_python(self, text: str, name: str) -> str:
        """A text of Python without the name of the class, as Pythons before 3.10 print it."""
        return text if self.since("2.8") else text.removeprefix(f"{name}.")
