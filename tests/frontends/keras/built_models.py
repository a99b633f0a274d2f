"""Build and run a Keras configuration without a file: for tests of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tfport
from tfport.atlas.known_ops import known_ops
from tfport.formats.files import MemoryFiles
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.keras.records import BY_LAYER, KerasFile, StoredWeight, StoredWeights
from tfport.frontends.keras.build import SIGNATURE, ModelBuilder
from tfport.graph.model import Model
from tfport.graph.op_signature import OpTable


def built(
    config: Mapping[str, Any],
    weights: Mapping[str, Sequence[Any]],
    version: str = "2.15.0",
    backend: str = "tensorflow",
) -> Model:
    """The model of a configuration with these weights by layer."""
    lists = {name: [stored(np.asarray(a)) for a in arrays] for name, arrays in weights.items()}
    file = KerasFile("m.h5", "h5", config, StoredWeights(BY_LAYER, lists), version, backend)
    return built_file(file)


def built_file(file: KerasFile) -> Model:
    """The model of a file that was read."""
    builder = ModelBuilder(file, OpTable(known_ops()))
    meta = builder.build()
    return Model(file.where, GRAPH_DEF, MemoryFiles("", {}), builder.graph, meta)


def stored(array: np.ndarray) -> StoredWeight:
    return StoredWeight("", array.dtype.name, array.shape, lambda: array)


def answers(model: Model, *inputs: Any) -> list[np.ndarray]:
    """The outputs of a model for inputs in the order of its signature."""
    names = list(model.signatures[SIGNATURE].inputs)
    call = tfport.Session(model).signature(SIGNATURE)
    return list(call(**dict(zip(names, inputs, strict=True))).values())


def sequential(
    *layers: tuple[str, Mapping[str, Any]], shape: Sequence[int | None], dtype: str = "float32"
) -> dict[str, Any]:
    """A Sequential configuration: classes with their options, after an input of this shape."""
    first = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": list(shape), "dtype": dtype}}
    rest = [
        {"class_name": name, "config": {"name": f"l{i}", **options}}
        for i, (name, options) in enumerate(layers)
    ]
    return {"class_name": "Sequential", "config": {"name": "m", "layers": [first, *rest]}}


def functional(
    inputs: Mapping[str, tuple[Sequence[int | None], str]],
    layers: Mapping[str, tuple[str, Mapping[str, Any], Sequence[str]]],
    outputs: Sequence[tuple[str, int]],
) -> dict[str, Any]:
    """A functional configuration in the form of Keras 2.

    Inputs have shapes and types; layers have classes, options and the names of what they are called with;
    outputs are layers and numbers of their outputs.
    """
    entries = [
        ("InputLayer", {"name": name, "batch_shape": list(shape), "dtype": dtype}, [])
        for name, (shape, dtype) in inputs.items()
    ]
    entries += [
        (kind, {"name": name, **options}, [[[arg, 0, 0, {}] for arg in args]])
        for name, (kind, options, args) in layers.items()
    ]
    stored = [
        {"class_name": kind, "name": config["name"], "config": config, "inbound_nodes": nodes}
        for kind, config, nodes in entries
    ]
    refs = {"input_layers": [[n, 0, 0] for n in inputs], "output_layers": [[n, 0, i] for n, i in outputs]}
    return {"class_name": "Model", "config": {"name": "m", "layers": stored, **refs}}
