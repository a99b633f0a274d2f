"""Layers that real Keras releases saved and ran: all cases of a release and family as one model.

`tests/live/record_keras_layers.py` records them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.frontends.keras.built_models import built
from tests.frontends.keras.layer_cases import named_cases
from tests.frontends.keras.layer_elements import elements, inputs_of

from tfport.frontends.keras.config import model_config
from tfport.frontends.keras.keras1 import with_dim_ordering
from tfport.frontends.keras.layer_order import layers_in_order
from tfport.graph.model import Model

RECORDED = Path(__file__).parents[2] / "expected" / "keras_layers.npz"
PREFIX = "release "


@dataclass(frozen=True)
class RecordedCase:
    """A model of a few layers, with the answer of the release that saved it."""

    name: str
    config: Mapping[str, Any]
    weights: Mapping[str, list[tuple[str, list[int]]]]
    inputs: list[Any]
    answer: Any


@cache
def recorded() -> Mapping[str, Any]:
    return dict(np.load(RECORDED))


def releases() -> list[str]:
    return [key.removeprefix(PREFIX) for key in recorded() if key.startswith(PREFIX)]


@cache
def release_facts(release: str) -> Mapping[str, Any]:
    facts: Mapping[str, Any] = json.loads(bytes(recorded()[PREFIX + release]))
    return facts


def recorded_cases(release: str, family: str) -> Iterator[RecordedCase]:
    facts = release_facts(release)
    cases = named_cases(1 if facts["version"].startswith("1.") else 3)
    for name, record in facts["cases"].items():
        if name in cases and name.startswith(f"{family}: "):
            shapes, chain = cases[name]
            inputs = inputs_of(shapes, chain[0][0])
            answer = recorded()[record["answer"]]
            yield RecordedCase(name, record["config"], record["weights"], inputs, answer)


def one_model(release: str, cases: list[RecordedCase]) -> Model:
    """The cases side by side: an output for each."""
    facts = release_facts(release)
    layers: list[Any] = []
    inputs: list[Any] = []
    outputs: list[Any] = []
    weights = {}
    for number, case in enumerate(cases):
        prefix = f"case_{number:03}"
        config = renamed(with_dim_ordering(case.config), prefix)
        layers += config["layers"]
        inputs += references(config["input_layers"])
        outputs += references(config["output_layers"])
        for layer, arrays in case.weights.items():
            numbered = enumerate(arrays)
            weights[f"{prefix}_{layer}"] = [elements(shape, kind, i) for i, (kind, shape) in numbered]
    config = {"name": "m", "layers": layers, "input_layers": inputs, "output_layers": outputs}
    stored = {"class_name": "Functional", "config": config}
    order = [layer.name for layer in layers_in_order(model_config(stored, "m"))]
    weights = {name: weights.pop(name) for name in order if name in weights} | weights
    return built(stored, weights, facts["version"], facts["backend"])


def references(stored: Any) -> list[Any]:
    """The inputs or outputs of a model as a list: newer releases store the only tensor without one."""
    return [stored] if isinstance(stored[0], str) else list(stored)


def renamed(stored: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The configuration of a functional model with a prefix before the name of each layer."""
    config = json.loads(json.dumps(stored["config"]))
    names = {layer.get("name") or layer["config"].get("name") for layer in config["layers"]}

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [change(inner) for inner in value]
        return f"{prefix}_{value}" if isinstance(value, str) and value in names else value

    for layer in config["layers"]:
        layer["name"] = change(layer.get("name") or layer["config"].get("name"))
        layer["config"]["name"] = layer["name"]
        layer["inbound_nodes"] = change(layer["inbound_nodes"])
    for key in ("input_layers", "output_layers"):
        config[key] = change(config[key])
    return dict(config)
