"""Tensors that a model stores outside of its graph, by key: checkpoints, weights of Keras and TF.js files."""

from __future__ import annotations

from typing import Any

from tfport.errors import MissingTensor
from tfport.graph.dtypes import DType
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.web.graph_view.columns import VERSION
from tfport.web.graph_view.tensor_peek import tensor_peek


def stored_tensor(model: Model, key: str) -> dict[str, Any]:
    """Statistics and first elements of a stored tensor; MissingTensor if there is none with this key."""
    checkpoint = model.checkpoint
    if checkpoint is not None and key in checkpoint:
        entry = checkpoint.entry(key)
        dtype, shape = str(DType.of(entry.dtype)), Shape(entry.shape)
        return _document(key, tensor_peek(dtype, shape, entry.nbytes, lambda: checkpoint.read(key)))
    lists = model.keras.weights.lists if model.keras is not None and model.keras.weights is not None else {}
    for owner, arrays in lists.items():
        for array in arrays:
            if key in (array.name, f"{owner}/{array.name}"):
                return _document(key, tensor_peek(array.dtype, Shape(array.shape), None, array.read))
    raise MissingTensor(f"{model.where}: there is no stored tensor `{key}`")


def _document(key: str, peek: dict[str, Any]) -> dict[str, Any]:
    return {"version": VERSION, "key": key, **peek}
