"""Layers with weights, without a model around them: for tests of where files store weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.atlas.known_ops import known_ops
from tfport.formats.keras.records import StoredWeight
from tfport.frontends.keras.config import LayerConfig, ModelConfig
from tfport.frontends.keras.instance import LayerInstance, WeightSlot
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Graph
from tfport.graph.op_signature import OpTable

GRAPH = Graph(OpTable(known_ops()))
WEIGHTS: dict[str, tuple[str, ...]] = {
    "Dense": ("kernel", "bias"),
    "EinsumDense": ("kernel", "bias"),
    "BatchNormalization": ("gamma", "beta", "moving_mean", "moving_variance"),
    "LSTMCell": ("kernel", "recurrent_kernel", "bias"),
    "GRUCell": ("kernel", "recurrent_kernel", "bias"),
}


def instance(
    class_name: str, name: str, *, trainable: bool = True, **children: LayerInstance | Sequence[LayerInstance]
) -> LayerInstance:
    """A layer with the weights of its class, and inner layers by attribute."""
    config: Mapping[str, Any] = {"name": name, "trainable": trainable}
    layer = LayerInstance(LayerConfig(class_name, name, config))
    for weight in WEIGHTS.get(class_name, ()):
        node = GRAPH.add("Const", (), {"dtype": FLOAT32}, name="w")
        layer.weights[weight] = WeightSlot(weight, (), FLOAT32, "moving" not in weight, node)
    for attribute, child in children.items():
        if isinstance(child, LayerInstance):
            layer.children[attribute] = child
        else:
            layer.children |= {f"{attribute}/{i}": element for i, element in enumerate(child)}
    return layer


def model(
    name: str, *layers: LayerInstance, class_name: str = "Functional", trainable: bool = True
) -> LayerInstance:
    """A model of layers."""
    inner = ModelConfig(class_name, name, [layer.config for layer in layers], [], [])
    config = LayerConfig(class_name, name, {"name": name, "trainable": trainable}, model=inner)
    return LayerInstance(config, {}, {layer.name: layer for layer in layers})


def array(name: str) -> StoredWeight:
    """A stored scalar."""
    return StoredWeight(name, "float32", (), lambda: np.zeros((), "f"))
