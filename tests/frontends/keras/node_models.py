"""Functional models of nodes side by side: every node is an output. For tests of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tests.frontends.keras.built_models import built

import tfport
from tfport.frontends.keras.build import SIGNATURE
from tfport.graph.model import Model

NAMES = ("x", "y", "i")
"""The inputs."""
Inputs = Mapping[str, np.ndarray]


def tensor(name: str, output: int = 0) -> dict[str, Any]:
    """A tensor among the arguments of a Keras 3 operation."""
    history = {"keras_history": [name, 0, output]}
    return {"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "float32", **history}}


def operation(class_name: str, *args: Any, **config: Any) -> dict[str, Any]:
    """An operation of Keras 3; strings that are inputs, such as `x`, are tensors."""
    return {
        "module": "keras.src.ops.numpy",
        "class_name": class_name,
        "config": config,
        "inbound_nodes": [{"args": [_tensors(a) for a in args], "kwargs": {}}],
    }


def _tensors(argument: Any) -> Any:
    if isinstance(argument, str) and argument in NAMES:
        return tensor(argument)
    return [_tensors(inner) for inner in argument] if isinstance(argument, list) else argument


def function(symbol: str, first: Any, **kwargs: Any) -> dict[str, Any]:
    """A function of TensorFlow in a model of Keras 2."""
    named = {
        key: [value, 0, 0] if isinstance(value, str) and value in NAMES else value
        for key, value in kwargs.items()
    }
    if isinstance(first, list):
        node: Any = [[ref, 0, 0, named] for ref in first]
    else:
        node = [first, 0, 0, named]
    return {
        "class_name": "TFOpLambda",
        "config": {"function": symbol, "trainable": True},
        "inbound_nodes": [node],
    }


def model_of(
    nodes: Sequence[Mapping[str, Any]],
    inputs: Mapping[str, np.ndarray | str],
    version: str,
    weights: Mapping[str, Sequence[Any]] | None = None,
) -> Model:
    """The model of nodes, which are called n000, n001, …; inputs are arrays, or types of matrices."""
    layers: list[dict[str, Any]] = []
    for name, like in inputs.items():
        dtype = like if isinstance(like, str) else "string" if like.dtype == object else like.dtype.name
        shape = [None, 2] if isinstance(like, str) else [None, *like.shape[1:]]
        config = {"name": name, "batch_shape": shape, "dtype": dtype}
        layers.append({"class_name": "InputLayer", "name": name, "config": config, "inbound_nodes": []})
    names = [f"n{number:03}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        layers.append({**node, "name": name, "config": {**node["config"], "name": name}})
    config = {
        "name": "m",
        "layers": layers,
        "input_layers": [[name, 0, 0] for name in inputs],
        "output_layers": [[name, 0, 0] for name in names],
    }
    return built({"class_name": "Functional", "config": config}, weights or {}, version)


def results(nodes: Sequence[Mapping[str, Any]], inputs: Inputs, version: str) -> list[Any]:
    """What each node computes: an array for a node."""
    answers = tfport.Session(model_of(nodes, inputs, version)).signature(SIGNATURE)(**inputs)
    return [answers[name] for name in sorted(answers)]
