"""Keras models of what Keras files cannot say: subclassed models, custom layers, and graphs without layers.

Each function returns the file that a functional model would have been read from, or raises CannotRun with the
reason that the graph is none. Whether it computes the same is decided by the comparison of `fix`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.errors import CannotRun
from tfport.fix.keras.traced.body import TracedBody, traced_body
from tfport.fix.keras.traced.saved_layers import OF_NODES, SavedLayers, is_known
from tfport.fix.keras.traced.translate import Translation
from tfport.formats.keras.records import BY_OBJECT, Json, KerasFile, StoredWeights, TrackedObject
from tfport.frontends.keras.build import SIGNATURE
from tfport.frontends.keras.config import layer_config, model_config
from tfport.frontends.keras.version import KerasVersion
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.startup.dataclass import dataclass, field, replace

FUNCTIONS_SINCE = "2.4.0"
GRAPH_VERSION = "2.15.0"
"""The version of Keras in whose words a graph without one is written."""


@dataclass(slots=True)
class TracedFile:
    """A functional model, and what it was made of."""

    file: KerasFile
    traced: list[str] = field(default_factory=list)
    """The layers or models whose traced call it has."""
    constants: list[str] = field(default_factory=list)
    """The weights that became constants."""


def with_traced_layers(model: Model, file: KerasFile, *, constants: bool) -> TracedFile:
    """The configuration of a model with functional models in place of its custom layers."""
    assert file.config is not None
    saved = SavedLayers(model, file.weights)
    done = TracedFile(file)
    model_config(file.config, file.where)  # refuses subclassed models
    config = _with_models(file.config, saved, model.copy(), done, constants)
    if not done.traced:
        raise CannotRun(f"{file.where}: it has no custom layers")
    done.file = replace(file, config=config, keras_version=_version(file), unsafe=[])
    return done


def _with_models(stored: Json, saved: SavedLayers, work: Model, done: TracedFile, constants: bool) -> Json:
    config = stored.get("config") if isinstance(stored, Mapping) else None
    if not isinstance(config, Mapping) or not isinstance(config.get("layers"), list):
        return stored
    layers = []
    for entry in config["layers"]:
        layer = layer_config(entry, saved.model.where)
        if layer.model is not None:
            layers.append(_with_models(entry, saved, work, done, constants))
        elif is_known(layer) or layer.class_name in OF_NODES:
            layers.append(entry)
        else:
            layers.append({**entry, **_as_model(layer.name, layer.class_name, saved, work, done, constants)})
    return {**stored, "config": {**config, "layers": layers}}


def _as_model(
    name: str, class_name: str, saved: SavedLayers, work: Model, done: TracedFile, constants: bool
) -> dict[str, Json]:
    """A custom layer as a functional model of the same name."""
    where = f"layer `{name}` ({class_name})"
    objects = [
        layer for layer in saved.layers.values() if (layer.name, layer.class_name) == (name, class_name)
    ]
    if len(objects) != 1:
        raise CannotRun(f"{where}: the file has {len(objects)} objects of this name")
    try:
        body = traced_body(saved, work, objects[0].number)
        translation = Translation(body, name, saved, constants=constants)
        functional = translation.run()
    except CannotRun as error:
        raise CannotRun(f"{where}: {error}") from None
    done.traced.append(name)
    done.constants += translation.constant_weights
    if (tracked := saved.tracked.get(objects[0].number)) is not None:
        tracked.children = functional.tracked().children
    return functional.config()


def traced_model(model: Model, file: KerasFile, *, constants: bool) -> TracedFile:
    """The traced call of a whole model as a functional model."""
    if file.weights is None:
        raise CannotRun(f"{file.where}: the checkpoint with its weights is missing")
    saved = SavedLayers(model, file.weights)
    name = saved.layers[0].name if 0 in saved.layers else "model"
    signature = model.meta.signature_def.get(SIGNATURE)
    inputs = None
    if signature is not None:
        specs = signature.inputs.values()
        inputs = sorted((int(spec.dtype), str(Shape.from_proto(spec.tensor_shape))) for spec in specs)
    body = traced_body(saved, model.copy(), 0, inputs)
    translation = Translation(body, name, saved, constants=constants)
    functional = translation.run()
    traced = _file(file, functional.config(), functional.tracked())
    return TracedFile(traced, [name], translation.constant_weights)


def graph_as_model(frozen: Model, signature: str) -> TracedFile:
    """A graph without variables as a functional model."""
    chosen = frozen.signatures[signature]
    body = TracedBody(frozen.graph, {}, [])
    for name, spec in chosen.inputs.items():
        if len(spec.tensors) != 1:
            raise CannotRun(f"the input `{name}` is not one dense tensor")
        body.inputs[name] = frozen.graph.value(spec.tensors[0])
    for name, spec in chosen.outputs.items():
        if len(spec.tensors) != 1:
            raise CannotRun(f"the output `{name}` is not one dense tensor")
        body.output_names.append(name)
        body.outputs.append(frozen.graph.value(spec.tensors[0]))
    translation = Translation(body, "model", None, constants=True)
    functional = translation.run()
    file = KerasFile(frozen.where, "json", None, None, GRAPH_VERSION)
    return TracedFile(_file(file, functional.config(), functional.tracked()), ["the graph"])


def _file(file: KerasFile, config: Mapping[str, Any], tracked: TrackedObject) -> KerasFile:
    weights = StoredWeights(BY_OBJECT, {}, root=tracked)
    return replace(file, config=config, weights=weights, keras_version=_version(file), unsafe=[])


def _version(file: KerasFile) -> str:
    """The version of Keras in whose words the new layers are: one that has functions as layers."""
    old = KerasVersion.parse(file.keras_version)
    return max((old, file.keras_version), (KerasVersion.parse(FUNCTIONS_SINCE), FUNCTIONS_SINCE))[1]
