"""Look up which releases have a class of Keras that a message names."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import atlas
from tfport.atlas.release_spans import STOCK, on_x86
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.explain.lookup import Meaning, MessageMatch

LAYERS = Path(__file__).with_name("keras_layers.json")
NEWEST_KERAS_2 = "2.15"
KEYS = ("name", "layers", "config", "class_name", "build_input_shape", "input_layers", "module")
OLD = "2.0"
"""A class that Keras has since then is not missing because of the release."""


@functools.cache
def _recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(LAYERS.read_text(encoding="utf-8"))
    return recorded


def unknown_object(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the class is one of Keras in other releases, one of a known package, or a custom one."""
    name = match.names.get("object", "")
    if name in KEYS:
        return Meaning(
            [f"{name} is a key of a configuration, not a class: a newer Keras wrote the file."],
            ["load it with the Keras that wrote it (`tfport inspect FILE` shows its version), or upgrade"],
        )
    spans = _recorded()["keras"].get(name)
    if spans and spans[-1][1] == _newest() and version_key(spans[-1][0]) <= version_key(OLD):
        return Meaning(
            [f"{name} is a class of Keras itself: its configuration was written by another Keras."],
            ["load it with the Keras that wrote the file (`keras`, `tensorflow.keras` or `tf_keras`)"],
        )
    if spans:
        last = spans[-1][1]
        shown = ", ".join(_span(first, end) for first, end in spans)
        return Meaning(
            [f"{name} is a class of Keras itself, in TensorFlow {shown}: the file is of another release."],
            _use(spans[-1][0], last),
        )
    packages = [package for package, names in _recorded()["packages"].items() if name in names]
    if packages:
        return Meaning([f"{name} is a class of {packages[0]}: import it and pass its class."])
    return Meaning([f"No recorded Keras has a class {name}: it belongs to the program that saved the model."])


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
