"""Keras files in the layouts of its releases, written by h5py and zipfile."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import h5py
import numpy as np

from tfport.formats.files import MemoryFiles
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.records import KerasFile

KERNEL, BIAS = np.arange(12, dtype="f4").reshape(4, 3), np.array([1, 2, 3], "f4")
DENSE = {"class_name": "Dense", "config": {"name": "dense", "units": 3}}
MODEL = {"class_name": "Sequential", "config": {"name": "m", "layers": [DENSE]}}
METADATA = {"keras_version": "3.15.1", "date_saved": "2026-01-02@03:04:05"}


def h5(write: Callable[[h5py.File], object], **options: Any) -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", **options) as file:
        write(file)
    return buffer.getvalue()


def put_layers(group: h5py.Group, layers: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Weights by layer, as every `.h5` model has them."""
    group.attrs["layer_names"] = [name.encode() for name in layers]
    for name, weights in layers.items():
        layer = group.create_group(name)
        layer.attrs["weight_names"] = [weight.encode() for weight in weights]
        for weight, array in weights.items():
            layer[weight] = array


def put_model(file: h5py.File, config: Any = MODEL, version: str = "2.15.0") -> None:
    """A whole `.h5` model with one layer."""
    file.attrs["model_config"] = config if isinstance(config, str | bytes) else json.dumps(config)
    file.attrs["keras_version"], file.attrs["backend"] = version, "tensorflow"
    group = file.create_group("model_weights")
    put_layers(group, {"dense": {"dense/kernel:0": KERNEL, "dense/bias:0": BIAS}})


def put_paths(file: h5py.File) -> None:
    """Weights by path, as `.keras` files have them."""
    file["layers/dense/vars/0"], file["layers/dense/vars/1"] = KERNEL, BIAS


def archive(members: Mapping[str, bytes | str | Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content if isinstance(content, bytes | str) else json.dumps(content))
    return buffer.getvalue()


def keras(config: Any = MODEL, **members: bytes | str | Any) -> bytes:
    """A `.keras` file with one layer."""
    usual = {"metadata.json": METADATA, "config.json": config, "model.weights.h5": h5(put_paths)}
    return archive({**usual, **members})


def read(data: bytes) -> KerasFile:
    return read_keras(MemoryFiles("m", {"m": memoryview(data)}), "m")


def unsafe_of(file: KerasFile) -> list[tuple[str, str, str]]:
    return [(content.kind, content.where, content.detail) for content in file.unsafe]
